#include "rows/stored_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <ffkit/image/image_codec.h>

namespace ffkit {
namespace {

// Pixels of a mode of Pillow, as tobytes() packs them.
struct PillowMode {
  std::string_view name;
  size_t num_bits;      // of a pixel; rows end at whole bytes
  size_t num_channels;  // of the picture that it becomes
  const char* lost;     // what is not stored; null: nothing
};
constexpr PillowMode kPillowModes[] = {
    {"RGB", 24, 3, nullptr},
    {"RGBX", 32, 3, nullptr},
    {"RGBA", 32, 3, "stored without its alpha"},
    {"L", 8, 1, nullptr},
    {"LA", 16, 1, "stored without its alpha"},
    {"P", 8, 1, "stored in grey (the numbers of its colours), because the file has no palette"},
    {"1", 1, 1, nullptr},
    {"I;16", 16, 1, nullptr},
    {"I;16B", 16, 1, nullptr},
    {"I", 32, 1, nullptr},
};

struct PillowPixels {
  PillowMode mode;
  int width = 0;
  int height = 0;
  std::span<const std::byte> data;

  uint8_t byte(size_t i) const { return static_cast<uint8_t>(data[i]); }
  size_t count() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
};

PillowPixels read_pillow(std::span<const std::byte> bytes) {
  StoredBytes from(bytes);
  const uint64_t width = from.number<uint32_t>();
  const uint64_t height = from.number<uint32_t>();
  const auto name = from.take(from.number<uint32_t>());
  const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
  const auto* const mode = std::ranges::find(kPillowModes, text, &PillowMode::name);
  if (mode == std::end(kPillowModes)) {
    throw error_of(ErrorCode::unsupported,
                   "the value is a picture in Pillow's mode '{}'; save it in mode RGB, L or I;16",
                   text.substr(0, 20));
  }
  const uint64_t row_bytes = (width * mode->num_bits + 7) / 8;
  constexpr uint64_t kMaxSide = 1'000'000;  // of what the encoders take
  const bool fits = width > 0 && height > 0 && width <= kMaxSide && height <= kMaxSide &&
                    row_bytes * height == from.size();
  if (!fits) {
    throw error_of(ErrorCode::corrupt,
                   "the value is a picture of {} x {} pixels of mode {}, but has {} bytes", width,
                   height, mode->name, from.size());
  }
  return {*mode, static_cast<int>(width), static_cast<int>(height), from.rest()};
}

std::span<const std::byte> kept(std::vector<std::byte> encoded, SampleBuffers& buffers) {
  std::vector<std::byte>& out = buffers.array();
  out = std::move(encoded);
  return out;
}

template <typename T>
std::span<const std::byte> grey_png(const PillowPixels& pixels, SampleBuffers& buffers,
                                    const auto& value_at) {
  std::vector<T> values(pixels.count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(value_at(i));
  return kept(encode_mask_png({.data = values.data(),
                               .dtype = dtype_of<T>(),
                               .width = pixels.width,
                               .height = pixels.height,
                               .stride = pixels.width}),
              buffers);
}

std::span<const std::byte> grey_of(const PillowPixels& pixels, SampleBuffers& buffers) {
  const std::string_view name = pixels.mode.name;
  if (name == "1") {
    const size_t row_bytes = (static_cast<size_t>(pixels.width) + 7) / 8;
    return grey_png<uint8_t>(pixels, buffers, [&](size_t i) {
      const size_t x = i % static_cast<size_t>(pixels.width);
      const size_t y = i / static_cast<size_t>(pixels.width);
      return (pixels.byte(y * row_bytes + x / 8) >> (7 - x % 8) & 1) * 255;
    });
  }
  if (name == "I;16" || name == "I;16B") {
    const size_t high = name == "I;16B" ? 0 : 1;
    return grey_png<uint16_t>(pixels, buffers, [&](size_t i) {
      return pixels.byte(2 * i + high) << 8 | pixels.byte(2 * i + 1 - high);
    });
  }
  if (name == "I") {
    return grey_png<uint16_t>(pixels, buffers, [&](size_t i) {
      uint32_t value = 0;
      std::memcpy(&value, pixels.data.data() + 4 * i, sizeof(value));
      if (value > std::numeric_limits<uint16_t>::max()) {
        throw error_of(ErrorCode::unsupported,
                       "the value is a picture in Pillow's mode 'I' with the pixel value {}, but "
                       "ffkit stores only 0 to 65535; store it as an array",
                       static_cast<int32_t>(value));
      }
      return value;
    });
  }
  const size_t pixel_bytes = pixels.mode.num_bits / 8;
  return grey_png<uint8_t>(pixels, buffers, [&](size_t i) { return pixels.byte(pixel_bytes * i); });
}

std::span<const std::byte> ppm_of(const PillowPixels& pixels, SampleBuffers& buffers) {
  const auto* data = reinterpret_cast<const uint8_t*>(pixels.data.data());
  std::vector<uint8_t> packed;
  if (pixels.mode.num_bits == 32) {
    packed.resize(3 * pixels.count());
    for (size_t i = 0; i < pixels.count(); ++i) std::memcpy(&packed[3 * i], data + 4 * i, 3);
    data = packed.data();
  }
  std::vector<std::byte>& out = buffers.array();
  encode_ppm({.data = data,
              .width = pixels.width,
              .height = pixels.height,
              .stride = ptrdiff_t{3} * pixels.width},
             out);
  return out;
}

}  // namespace

uint64_t stored_scalar(std::span<const std::byte> bytes, size_t num_bytes) {
  if (bytes.size() != num_bytes) {
    throw error_of(ErrorCode::corrupt,
                   "the value has {} bytes, but a number of its type has {} bytes", bytes.size(),
                   num_bytes);
  }
  return StoredBytes(bytes).unsigned_number(num_bytes);
}

TensorView stored_tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> data) {
  bool fits = true;
  int64_t num_bytes = static_cast<int64_t>(size_of(dtype));
  for (const int64_t side : shape) {
    fits = fits && side >= 0 && !__builtin_mul_overflow(num_bytes, side, &num_bytes);
  }
  if (!fits || num_bytes != std::ssize(data)) {
    throw error_of(ErrorCode::corrupt,
                   "the value is an array of {} with shape [{}], but has {} bytes",
                   to_string(dtype), fmt::join(shape, ", "), data.size());
  }
  return {.dtype = dtype, .shape = std::move(shape), .data = data};
}

std::vector<std::span<const std::byte>> stored_items(std::span<const std::byte> bytes) {
  StoredBytes from(bytes);
  const uint64_t count = from.number<uint32_t>();
  StoredBytes sizes(from.take(4 * count));
  std::vector<std::span<const std::byte>> items;
  items.reserve(static_cast<size_t>(count));
  while (items.size() < count) items.push_back(from.take(sizes.number<uint32_t>()));
  from.require_end();
  return items;
}

std::span<const std::byte> stored_pillow(std::span<const std::byte> bytes, SampleBuffers& buffers) {
  const PillowPixels pixels = read_pillow(bytes);
  if (pixels.mode.lost != nullptr) {
    buffers.report(
        {.reason = fmt::format("the value is a picture in Pillow's mode {}", pixels.mode.name),
         .action = pixels.mode.lost});
  }
  return pixels.mode.num_channels == 3 ? ppm_of(pixels, buffers) : grey_of(pixels, buffers);
}

}  // namespace ffkit
