#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_resizer.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "input/splitmix.h"

namespace ffkit {
namespace {

// Hashed, since nearby states of SplitMix give overlapping sequences.
bool draw(uint64_t seed, std::string_view id, double probability) {
  const uint64_t name = fnv1a64(std::as_bytes(std::span(id)));
  return SplitMix(SplitMix(seed).next() ^ SplitMix(name).next()).uniform(0, 1) < probability;
}

// What is odd about a picture, or an empty text.
std::string oddity(const ImageInfo& info) {
  switch (info.encoding) {
    case ImageEncoding::jpeg:
      return info.num_components == 4 ? "is a CMYK JPEG" : "";
    case ImageEncoding::dct:
      return "";
    case ImageEncoding::png:
      return "is a PNG";
    case ImageEncoding::webp:
      return "is a WebP";
    case ImageEncoding::bmp:
      return "is a BMP";
    case ImageEncoding::ppm:
      return info.num_components == 1 ? "is a PGM" : "is a PPM";
    case ImageEncoding::unknown:
      break;
  }
  return "is of an unknown kind";
}

void remark(SampleBuffers& buffers, const PictureRemark& remark, std::string_view picture) {
  buffers.report({remark.reason, remark.action, std::string(picture)});
}

// What one thread needs.
struct Codecs {
  ImageDecoder decoder;
  ImageResizer resizer;
  JpegEncoder encoder;
  DctTranscoder transcoder;
  std::vector<uint8_t> upright;  // pixels
};

}  // namespace

struct ImageStorer::Impl {
  Stored convert(Codecs& codecs, std::span<const std::byte> image, std::string_view id,
                 SampleBuffers& buffers, std::string_view picture) const {
    const ImageInfo info = codecs.decoder.read_info(image);
    const int orientation = storage.exif == ExifUse::apply ? exif_orientation(image) : 1;
    const PixelSize original =
        orientation >= 5 ? PixelSize{info.height, info.width} : PixelSize{info.width, info.height};
    const PixelSize size = stored_size(storage, original);
    const bool is_raw =
        storage.store == StoreAs::raw ||
        (storage.store == StoreAs::smart && draw(buffers.seed(), id, storage.raw_share));
    const std::string odd = storage.fix_odd && !is_raw ? oddity(info) : "";
    const bool is_changed =
        size != original || !odd.empty() || orientation != 1 || (is_raw && !info.is_raw);
    if (!is_changed) {
      if (storage.check == ImageCheck::decode) (void)codecs.decoder.decode(image);
      if (info.has_16_bits) remark(buffers, kKept16Bits, picture);
      if (info.is_animation) remark(buffers, kKeptAnimation, picture);
      return {as_stored(codecs, image, info.encoding, buffers, picture), original, original};
    }
    RgbView pixels = turn_upright(codecs.decoder.decode(image), orientation, codecs.upright);
    if (size != original) pixels = codecs.resizer.resize(pixels, size.width, size.height);
    std::vector<std::byte>& out = buffers.array();
    if (is_raw) {
      encode_ppm(pixels, out);
    } else {
      codecs.encoder.encode(pixels, storage.jpeg_quality, out);
    }
    if (info.has_16_bits) remark(buffers, kLost16Bits, picture);
    if (info.is_animation) remark(buffers, kFirstOfAnimation, picture);
    const char* const encoded = is_raw ? "encoded as pixels" : "re-encoded as JPEG";
    if (orientation != 1) {
      buffers.report({fmt::format("{}has the EXIF orientation {}", odd.empty() ? "" : odd + " and ",
                                  orientation),
                      fmt::format("turned upright and {}", encoded), std::string(picture)});
    } else if (!odd.empty()) {
      buffers.report({odd, encoded, std::string(picture)});
    }
    const ImageEncoding encoding = is_raw ? ImageEncoding::ppm : ImageEncoding::jpeg;
    return {as_stored(codecs, out, encoding, buffers, picture), original, size};
  }

  // In the dct code where that is asked for, and where there is one for the picture.
  std::span<const std::byte> as_stored(Codecs& codecs, std::span<const std::byte> image,
                                       ImageEncoding encoding, SampleBuffers& buffers,
                                       std::string_view picture) const {
    if (storage.store != StoreAs::dct || encoding == ImageEncoding::dct) return image;
    std::vector<std::byte>& out = buffers.array();
    const std::optional<DctRefusal> refusal = codecs.transcoder.encode(image, out);
    if (!refusal) return out;
    buffers.report(
        {fmt::format("is {}", to_string(*refusal)), kKeptWithoutDct, std::string(picture)});
    return image;
  }

  ImageStorage storage;
  mutable tbb::enumerable_thread_specific<Codecs> thread_codecs;
};

ImageStorer::ImageStorer(const ImageStorage& storage) : impl_(std::make_unique<Impl>()) {
  validate(storage);
  impl_->storage = storage;
}

ImageStorer::~ImageStorer() = default;

ImageStorer::Stored ImageStorer::store(std::span<const std::byte> image, std::string_view id,
                                       SampleBuffers& buffers, std::string_view picture) const {
  try {
    const Stored stored = impl_->convert(impl_->thread_codecs.local(), image, id, buffers, picture);
    const bool is_made = stored.bytes.data() != image.data() && !is_dct_picture(image);
    if (is_made) buffers.made_from(stored.bytes, image);
    return stored;
  } catch (const Error& error) {
    if (buffers.bad_samples() != BadSamples::keep || is_out_of_memory(error)) throw;
    buffers.report({error.what(), kKeptAsItIs, std::string(picture)});
    return {.bytes = image};
  }
}

const ImageStorage& ImageStorer::storage() const {
  return impl_->storage;
}

bool ImageStorer::checks_headers_only() const {
  const ImageStorage& storage = impl_->storage;
  return storage.check == ImageCheck::header && storage.store != StoreAs::raw &&
         storage.store != StoreAs::dct;
}

int64_t ImageStorer::memory_bytes(int64_t file_bytes) const {
  const ImageStorage& storage = impl_->storage;
  if (storage.store == StoreAs::jpeg) return file_bytes;
  // The picture, its dct code, and the JPEG that is made again from that.
  if (storage.store == StoreAs::dct) return 4 * file_bytes;
  // Photographs as JPEG have one to two bits a pixel; 24 raw ones are then 12 to 24 times as much.
  int64_t raw_bytes = 24 * file_bytes;
  if (storage.max_resolution != 0) {
    raw_bytes = std::min(raw_bytes, int64_t{3} * storage.max_resolution * storage.max_resolution);
  }
  return file_bytes + raw_bytes;
}

}  // namespace ffkit
