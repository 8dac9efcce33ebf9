// Images that tests make for themselves: pictures with smooth and busy parts, JPEGs of every kind,
// PNGs. And the JPEGs of a folder.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/image/image_codec.h>

namespace ffkit::testing {

// RGB pixels that own their memory, without padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  RgbView view() const { return {rgb.data(), width, height, ptrdiff_t{3} * width}; }
  const uint8_t* at(int x, int y) const {
    return &rgb[3 * (size_t(y) * size_t(width) + size_t(x))];
  }
};

// Gradients with edges and noise on top; the same for the same arguments.
inline Picture make_picture(int width, int height, uint32_t seed = 1) {
  Picture picture{width, height, std::vector<uint8_t>(size_t(width) * size_t(height) * 3)};
  uint32_t state = seed * 2654435761U + 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* pixel = &picture.rgb[3 * (size_t(y) * size_t(width) + size_t(x))];
      state = state * 1664525U + 1013904223U;
      const int noise = int(state >> 27);
      const int edge = ((x / 23 + y / 17) % 2) * 90;
      pixel[0] = uint8_t((x * 200 / width + noise + edge / 3) % 256);
      pixel[1] = uint8_t((y * 180 / height + noise + edge) % 256);
      pixel[2] = uint8_t(((x + y) * 3 + noise * 2) % 256);
    }
  }
  return picture;
}

// Copies a view.
inline Picture copy(const RgbView& view) {
  Picture picture{view.width, view.height, {}};
  for (int y = 0; y < view.height; ++y) {
    const uint8_t* row = view.data + y * view.stride;
    picture.rgb.insert(picture.rgb.end(), row, row + ptrdiff_t{3} * view.width);
  }
  return picture;
}

// A small JPEG whose header claims to be of width x height pixels.
inline std::vector<std::byte> jpeg_that_claims(int width, int height) {
  std::vector<std::byte> jpeg = encode_jpeg(make_picture(48, 40).view());
  const auto number = [](int value) {
    return std::array{std::byte(value / 256), std::byte(value % 256)};
  };
  const std::array marker = {std::byte{0xff},
                             std::byte{0xc0}};  // then length, precision, height, width
  const auto frame = std::ranges::search(jpeg, marker).begin();
  std::ranges::copy(number(height), frame + 5);
  std::ranges::copy(number(width), frame + 7);
  return jpeg;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> result(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) result[i] = std::byte(bytes[i]);
  return result;
}

struct NamedJpeg {
  std::string name;
  std::vector<std::byte> jpeg;
};

// The JPEGs in a file, or in a tar of files and tars.
inline void add_jpegs_of(const std::string& name, std::span<const std::byte> file,
                         std::vector<NamedJpeg>& list) {
  constexpr size_t kBlock = 512;
  const auto text = [&](size_t at, size_t count) {
    return std::string_view(reinterpret_cast<const char*>(file.data()) + at, count);
  };
  if (file.size() > 2 && text(0, 2) == "\xff\xd8") {
    list.push_back({name, {file.begin(), file.end()}});
    return;
  }
  if (file.size() < kBlock || text(257, 5) != "ustar") return;
  for (size_t at = 0; at + kBlock <= file.size() && file[at] != std::byte{0};) {
    const std::string_view digits = text(at + 124, 11);
    size_t size = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
    const std::string_view entry = text(at, 100);
    at += kBlock;
    if (size > file.size() - at) return;
    add_jpegs_of(name + "/" + std::string(entry.substr(0, entry.find('\0'))),
                 file.subspan(at, size), list);
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
}

// All JPEGs under a folder, in files and tars.
inline std::vector<NamedJpeg> jpegs_under(const std::filesystem::path& folder) {
  std::vector<NamedJpeg> list;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".tar" || extension == ".jpg" || extension == ".JPEG" ||
        extension == ".jpeg") {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  for (const auto& path : paths) add_jpegs_of(path.filename(), read_bytes(path), list);
  return list;
}

}  // namespace ffkit::testing
