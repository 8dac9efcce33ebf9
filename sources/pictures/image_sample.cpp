#include "pictures/image_sample.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>

#include "base/little_endian.h"
#include "base/printable.h"
#include "image/codec/mask_decoder.h"
#include "pictures/image_source.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

// image_classification_schema()
constexpr size_t kImageField = 0;
constexpr size_t kLabelField = 1;
constexpr size_t kIdField = 2;

struct Ending {
  std::string_view text;
  ContentKind kind;
  bool is_of_image_folder = true;  // torchvision's ImageFolder knows it
};
constexpr std::array kEndings = {Ending{".jpg", ContentKind::jpeg},
                                 Ending{".jpeg", ContentKind::jpeg},
                                 Ending{".png", ContentKind::png},
                                 Ending{".ppm", ContentKind::pnm},
                                 Ending{".bmp", ContentKind::bmp},
                                 Ending{".pgm", ContentKind::pnm},
                                 Ending{".tif", ContentKind::tiff},
                                 Ending{".tiff", ContentKind::tiff},
                                 Ending{".webp", ContentKind::webp},
                                 Ending{".jfif", ContentKind::jpeg, false},
                                 Ending{".gif", ContentKind::gif, false},
                                 Ending{".avif", ContentKind::avif, false},
                                 Ending{".heic", ContentKind::heic, false},
                                 Ending{".heif", ContentKind::heic, false},
                                 Ending{".jp2", ContentKind::jpeg_2000, false},
                                 Ending{".jxl", ContentKind::jpeg_xl, false}};

// Null for other endings.
const Ending* ending_of(const std::filesystem::path& file) {
  if (file.filename().string().starts_with('.')) return nullptr;
  const std::string ending = in_lower_case(file.extension().string());
  const auto* const found = std::ranges::find(kEndings, ending, &Ending::text);
  return found == kEndings.end() ? nullptr : found;
}

void require_mask_of(const ImageInfo& info, MaskNumbers numbers, PixelSize size,
                     const std::string& picture, bool is_turned) {
  require_mask(info, numbers);
  if (numbers == MaskNumbers::panoptic && info.num_components != 3) {
    throw Error(ErrorCode::unsupported,
                "the panoptic mask has one channel, but panoptic ids need three channels (red, "
                "green, blue)");
  }
  if (size == PixelSize{} || size == PixelSize{info.width, info.height}) return;
  throw error_of(ErrorCode::unsupported,
                 "the mask has {} x {} pixels, but its picture '{}' has {} x {} pixels", info.width,
                 info.height, picture, size.width, size.height)
      .with_remedy((is_turned
                        ? "the EXIF data turn the picture, so store the picture upright with " +
                              option_set("exif", "apply")
                        : std::string("give the mask and the picture the same size")) +
                   ", or leave such pairs out with " + option_set("bad_samples", "skip"));
}

constexpr int64_t kMaxPngBytes = 1LL << 30;
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

}  // namespace

bool has_image_name(const std::filesystem::path& file) {
  const Ending* const ending = ending_of(file);
  return ending != nullptr && ending->is_of_image_folder;
}

bool has_read_image_name(const std::filesystem::path& file) {
  const Ending* const ending = ending_of(file);
  return ending != nullptr && (ending->is_of_image_folder || is_decoded_picture(ending->kind));
}

ContentKind picture_kind_of(const std::filesystem::path& file) {
  const Ending* const ending = ending_of(file);
  if (ending != nullptr && (is_decoded_picture(ending->kind) || Place(file).is_in_store())) {
    return ending->kind;
  }
  if (Place(file).is_in_store() || file.filename().string().starts_with('.'))
    return ContentKind::unknown;
  try {
    const InputFile opened(file);
    return content_kind(opened.head());
  } catch (const Error&) {
    // What has a picture's name is a bad sample, which says why.
    return ending == nullptr ? ContentKind::unknown : ending->kind;
  }
}

ContentKind picture_kind_of(const std::string& member, const InputFile& archive,
                            const FileRange& data) {
  const Ending* const ending = ending_of(member);
  if (ending != nullptr && is_decoded_picture(ending->kind)) return ending->kind;
  if (std::filesystem::path(member).filename().string().starts_with('.')) {
    return ContentKind::unknown;
  }
  return content_kind(archive.head(data.offset, data.num_bytes));
}

void require_image_size(int64_t num_bytes, const std::string& origin) {
  if (num_bytes > kMaxImageFileBytes) {
    throw error_at(origin, ErrorCode::unsupported,
                   "the picture has {} bytes, more than the limit of {} bytes", num_bytes,
                   kMaxImageFileBytes);
  }
}

void require_utf8_name(const std::string& name, const std::string& origin) {
  if (is_utf8(name)) return;
  throw error_at(origin, ErrorCode::unsupported,
                 "the name of this file or class is not UTF-8 text; rename the file or class");
}

void set_image_sample(RecordBuilder& record, std::span<const std::byte> image, int64_t label,
                      std::string_view id, const std::string& origin, const ImageStorer& storer,
                      SampleBuffers& buffers) {
  const ImageStorer::Stored stored =
      of_sample(origin, [&] { return storer.store(image, id, buffers); });
  record.set_bytes(kImageField, stored.bytes);
  record.set_scalar<int64_t>(kLabelField, label);
  record.set_string(kIdField, id);
}

bool report_turned(std::span<const std::byte> image, const ImageStorer& storer,
                   SampleBuffers& buffers) {
  if (storer.storage().exif == ExifUse::apply) return false;
  const int orientation = exif_orientation(image);
  if (orientation == 1) return false;
  buffers.report({fmt::format("has the EXIF orientation {}, and its annotations may refer to the "
                              "stored picture or to the upright one",
                              orientation),
                  kKeptUnturned, "", 1});
  return true;
}

std::span<const std::byte> read_listed_file(const std::filesystem::path& path,
                                            const FileStamp& listed, SampleBuffers& buffers) {
  if (listed.modified_ns == ImageEntry::kDanglingLink) {
    const std::string fault = dangling_link(path);
    // Not not_found: the sample is bad, and the source is what it was when it was listed.
    throw error_at(path, ErrorCode::unsupported,
                   fault.empty() ? "was a broken link when it was listed; start again" : fault);
  }
  const InputFile file(path, listed);
  require_image_size(file.size(), path.string());
  const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

std::span<const std::byte> read_mask_file(const std::filesystem::path& path,
                                          const FileStamp& listed, MaskNumbers numbers,
                                          PixelSize size, const std::string& picture,
                                          const std::string& field, SampleBuffers& buffers,
                                          bool is_turned) {
  const std::span<const std::byte> mask = read_listed_file(path, listed, buffers);
  try {
    require_mask_of(read_image_info(mask), numbers, size, picture, is_turned);
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    if (buffers.bad_samples() != BadSamples::keep) throw error.within({.path = path.string()});
    buffers.report({error.what(), kKeptAsItIs, field});
  }
  return mask;
}

std::string problem_of_png(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_source_bytes(path, kMaxPngBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kPngSignature)) return "the file is not a PNG";
  std::span<const std::byte> rest = std::span(file).subspan(kPngSignature.size());
  constexpr size_t kAround = 12;  // length, type and CRC of a chunk
  while (true) {
    const size_t offset = file.size() - rest.size();
    if (rest.size() < kAround || load_be_u32(rest.data()) > rest.size() - kAround) {
      return fmt::format(
          "the file is a PNG that was cut off: it ends inside the chunk that begins at byte {}",
          offset);
    }
    const size_t length = load_be_u32(rest.data());
    const std::span<const std::byte> checked = rest.subspan(4, length + 4);
    const uLong crc =
        crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    if (crc != load_be_u32(rest.data() + 8 + length)) {
      return fmt::format("the file is a damaged PNG: the CRC of the chunk at byte {} is wrong",
                         offset);
    }
    if (text.substr(offset + 4, 4) == "IEND") return "";
    rest = rest.subspan(length + kAround);
  }
}

}  // namespace ffkit
