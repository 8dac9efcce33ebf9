// Hashes of what a record holds: of its bytes, and of what its picture looks like.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/image_codec.h>

namespace ffkit {

// 128 bits of bytes, which are equal where the bytes are: among 10^7 records two
// different ones have the same with a probability of 10^-25. Not made against forgers.
struct ContentHash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const ContentHash&) const = default;
};

// MurmurHash3_x64_128 of Austin Appleby (public domain), seed 0; `high` is its first half. Reads
// several GB/s.
ContentHash content_hash(std::span<const std::byte> data);

// 64 bits of what a picture looks like, of which near pictures differ in few.
//
// The bits are those of `imagehash.phash()` of Python (ImageHash 4.3; after "Looks Like It", Neal
// Krawetz, 2011, and Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions",
// 2010): the grey picture, 32 x 32 pixels by Pillow's LANCZOS, whatever its aspect; its DCT-II; of
// that the 8 x 8 lowest frequencies, row by row, the lowest first, in the highest bit: is it more
// than their median. A JPEG is decoded at the fraction of its size at which both sides still have
// kSmallestSide pixels. README.md says how many bits that changes.
struct PictureHash {
  uint64_t bits = 0;
  // Half of the frequencies are within this of their median, as the height of a wave in grey
  // levels.
  float contrast = 0;
  // The contrast is below kPlainContrast, so that noise decides about half of the bits: a picture
  // of one colour, a gradient along one side.
  bool is_plain = false;
};

// Hashes one picture after another and keeps its memory. Not thread-safe: one per thread.
class PictureHasher {
 public:
  static constexpr int kSide = 32;
  static constexpr int kSmallestSide = 64;
  static constexpr float kPlainContrast = 0.25F;

  // Throws as ImageDecoder::decode().
  PictureHash hash(std::span<const std::byte> image);

 private:
  // For each of kSide pixels of a side, which of `size` pixels it is made of, and their weights.
  struct Weights {
    int size = 0;
    std::array<int, kSide> first{};
    std::array<int, kSide> count{};
    int stride = 0;  // of `values`, [kSide, stride]; zeros behind the last weight
    std::vector<float> values;
    void prepare(int size);
  };
  using Frequencies = std::array<float, 64>;

  void make_small(const RgbView& pixels);
  Frequencies lowest_frequencies() const;

  ImageDecoder decoder_;
  Weights across_;
  Weights down_;
  std::vector<float> row_;           // a row of the picture, grey
  std::vector<float> narrow_;        // [height, kSide]
  std::array<float, 1024> small_{};  // [kSide, kSide], whole grey levels
};

}  // namespace ffkit
