// A picture in the dct code, of any bytes: made a JPEG again, decoded whole, scaled and in part.
// Where the JPEG that comes out has a dct code, the pixels of both must be the same. A JPEG of any
// bytes: where it gets a dct code, that must give the same bytes back.
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "touch.h"

using namespace ffkit;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Copies the pixels of a part, or of all where min_size is negative; nothing where there is an
// error.
std::vector<uint8_t> pixels_of(ImageDecoder& decoder, std::span<const std::byte> image,
                               const Rect& part, int min_size) {
  std::vector<uint8_t> pixels;
  fuzzing::attempt([&] {
    const RgbView view = min_size < 0
                             ? decoder.decode(image)
                             : decoder.decode_region(image, part, min_size, min_size).pixels;
    for (int y = 0; y < view.height; ++y) {
      const uint8_t* const row = view.data + y * view.stride;
      pixels.insert(pixels.end(), row, row + ptrdiff_t{3} * view.width);
    }
  });
  return pixels;
}

// Ends the program where a JPEG gets a dct code that does not give it back.
bool has_dct_code(DctTranscoder& transcoder, std::span<const std::byte> jpeg) {
  std::vector<std::byte> dct;
  std::vector<std::byte> again;
  if (transcoder.encode(jpeg, dct)) return false;
  transcoder.decode_to_jpeg(dct, again);
  if (!std::ranges::equal(jpeg, again)) std::abort();
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ImageDecoder decoder;  // as the loader does: one for many
  static DctTranscoder transcoder;
  const auto dct = std::as_bytes(std::span(data, size));
  if (!is_dct_picture(dct)) {
    has_dct_code(transcoder, dct);
    return 0;
  }
  std::vector<std::byte> jpeg;
  bool is_rebuilt = false;
  fuzzing::attempt([&] {
    transcoder.decode_to_jpeg(dct, jpeg);
    is_rebuilt = true;
  });
  ImageInfo info;
  fuzzing::attempt([&] { info = decoder.read_info(dct); });
  constexpr int64_t kMaxPixels = 1 << 16;  // more only take longer
  if (info.width == 0 || int64_t{info.width} * info.height > kMaxPixels) return 0;
  // Which part is told by the input's last bytes before the zeros.
  const auto pick = [&](size_t i, int limit) { return data[size - 1 - (17 + i) % size] % limit; };
  Rect part{.x = pick(0, info.width), .y = pick(1, info.height)};
  part.width = 1 + pick(2, info.width - part.x);
  part.height = 1 + pick(3, info.height - part.y);
  // What comes out may be no whole JPEG: the bytes behind the scan are the input's.
  const bool is_exact = is_rebuilt && has_dct_code(transcoder, jpeg);
  for (const int min_size : {-1, 0, 1, 10}) {
    const std::vector<uint8_t> pixels = pixels_of(decoder, dct, part, min_size);
    if (is_exact && pixels != pixels_of(decoder, jpeg, part, min_size)) std::abort();
  }
  return 0;
}

// Lengths that do not add up are refused at once. So this one lets them, most of the time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr size_t kHeaderBytes = 28;
  constexpr size_t kSlackBytes = 16;
  const size_t new_size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0 || new_size < kHeaderBytes ||
      !is_dct_picture(std::as_bytes(std::span(data, new_size)))) {
    return new_size;
  }
  const auto get = [&](size_t at) {
    uint32_t value;
    std::memcpy(&value, data + at, sizeof(value));
    return size_t{value};
  };
  const auto put = [&](size_t at, size_t value) {
    const auto number = static_cast<uint32_t>(value);
    std::memcpy(data + at, &number, sizeof(number));
  };
  put(8, new_size);
  const size_t rows_at = kHeaderBytes + size_t{19} * data[24] + get(12) + get(16) + 4 * get(20);
  if (get(20) > 0 && rows_at >= 4 && rows_at + kSlackBytes <= new_size) {
    put(rows_at - 4, new_size - kSlackBytes - rows_at);
  }
  return new_size;
}
