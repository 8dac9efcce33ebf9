#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/little_endian.h"
#include "duplicates/hash_file.h"

namespace ffkit {
namespace {

constexpr uint64_t kFirst = 0x87C37B91114253D5;
constexpr uint64_t kSecond = 0x4CF5AD432745937F;

uint64_t mixed_first(uint64_t k) {
  return std::rotl(k * kFirst, 31) * kSecond;
}

uint64_t mixed_second(uint64_t k) {
  return std::rotl(k * kSecond, 33) * kFirst;
}

uint64_t final_mix(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xFF51AFD7ED558CCD;
  k = (k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53;
  return k ^ (k >> 33);
}

// Up to 8 bytes, the first the lowest.
uint64_t load_tail(std::span<const std::byte> data) {
  uint64_t value = 0;
  for (size_t i = data.size(); i > 0; --i) {
    value = value << 8 | std::to_integer<uint64_t>(data[i - 1]);
  }
  return value;
}

// Pillow's LANCZOS: sinc(x) sinc(x / 3), within 3 of the centre.
constexpr double kLanczosReach = 3;
// Sums are made in so many parts, which the compiler turns into vectors.
constexpr int kLanes = 8;

// sinc(x) sinc(x / 3) = 3 sin(pi x) sin(pi x / 3) / (pi x)^2, where sin 3a = 3 sin a - 4 sin^3 a.
double lanczos(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= kLanczosReach) return 0;
  const double y = x * std::numbers::pi;
  const double sine = std::sin(y / 3);
  return 3 * sine * sine * (3 - 4 * sine * sine) / (y * y);
}

float whole_level(float value) {
  return static_cast<float>(static_cast<int>(std::clamp(value, 0.0F, 255.0F) + 0.5F));
}

// Reads up to the next multiple of kLanes, where the weights are 0.
float weighted_sum(const float* weights, const float* from, int count) {
  std::array<float, kLanes> sums{};
  for (int k = 0; k < count; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += weights[k + lane] * from[k + lane];
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

// cos((2 x + 1) k pi / 64), [8, 32].
std::array<std::array<float, PictureHasher::kSide>, 8> make_waves() {
  std::array<std::array<float, PictureHasher::kSide>, 8> waves{};
  for (int k = 0; k < 8; ++k) {
    for (int x = 0; x < PictureHasher::kSide; ++x) {
      waves[k][x] = static_cast<float>(
          std::cos((2 * x + 1) * k * std::numbers::pi / (2.0 * PictureHasher::kSide)));
    }
  }
  return waves;
}

// Between the two in the middle, as numpy has it.
float middle_of(std::array<float, 64> values) {
  std::ranges::sort(values);
  return (values[31] + values[32]) / 2;
}

}  // namespace

ContentHash content_hash(std::span<const std::byte> data) {
  const size_t length = data.size();
  uint64_t h1 = 0;
  uint64_t h2 = 0;
  for (; data.size() >= 16; data = data.subspan(16)) {
    h1 ^= mixed_first(load_le<uint64_t>(data.data()));
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52DCE729;
    h2 ^= mixed_second(load_le<uint64_t>(data.data() + 8));
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495AB5;
  }
  if (data.size() > 8) h2 ^= mixed_second(load_tail(data.subspan(8)));
  if (!data.empty()) h1 ^= mixed_first(load_tail(data.first(std::min<size_t>(data.size(), 8))));
  h1 ^= length;
  h2 ^= length;
  h1 += h2;
  h2 += h1;
  h1 = final_mix(h1);
  h2 = final_mix(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

// As Pillow's precompute_coeffs() (src/libImaging/Resample.c).
void PictureHasher::Weights::prepare(int new_size) {
  if (size == new_size) return;
  size = new_size;
  const double scale = static_cast<double>(size) / kSide;
  const double widening = std::max(1.0, scale);
  const double reach = kLanczosReach * widening;
  const int longest = 2 * static_cast<int>(std::ceil(reach)) + 1;
  stride = (longest + kLanes - 1) / kLanes * kLanes;
  values.assign(static_cast<size_t>(stride) * kSide, 0);
  for (int i = 0; i < kSide; ++i) {
    const double centre = (i + 0.5) * scale;
    first[i] = std::max(0, static_cast<int>(centre - reach + 0.5));
    count[i] = std::min(size, static_cast<int>(centre + reach + 0.5)) - first[i];
    float* weights = values.data() + static_cast<ptrdiff_t>(i) * stride;
    double sum = 0;
    for (int k = 0; k < count[i]; ++k) {
      const double weight = lanczos((first[i] + k - centre + 0.5) / widening);
      sum += weight;
      weights[k] = static_cast<float>(weight);
    }
    const auto share = static_cast<float>(1 / sum);
    for (int k = 0; k < count[i]; ++k) weights[k] *= share;
  }
}

void PictureHasher::make_small(const RgbView& pixels) {
  across_.prepare(pixels.width);
  down_.prepare(pixels.height);
  row_.assign(static_cast<size_t>(pixels.width) + kLanes, 0);
  narrow_.resize(static_cast<size_t>(pixels.height) * kSide);
  for (int y = 0; y < pixels.height; ++y) {
    const uint8_t* rgb = pixels.data + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, rgb += 3) {
      // Pillow's L: ITU-R 601-2 luma.
      row_[x] =
          static_cast<float>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    }
    for (int i = 0; i < kSide; ++i) {
      const float* weights = across_.values.data() + static_cast<ptrdiff_t>(i) * across_.stride;
      const float* from = row_.data() + across_.first[i];
      narrow_[static_cast<size_t>(y) * kSide + i] =
          whole_level(weighted_sum(weights, from, across_.count[i]));
    }
  }
  for (int i = 0; i < kSide; ++i) {
    std::array<float, kSide> sums{};
    for (int k = 0; k < down_.count[i]; ++k) {
      const float weight = down_.values[static_cast<size_t>(i) * down_.stride + k];
      const float* from = narrow_.data() + static_cast<ptrdiff_t>(down_.first[i] + k) * kSide;
      for (int x = 0; x < kSide; ++x) sums[x] += weight * from[x];
    }
    for (int x = 0; x < kSide; ++x) small_[i * kSide + x] = whole_level(sums[x]);
  }
}

PictureHasher::Frequencies PictureHasher::lowest_frequencies() const {
  static const auto kWaves = make_waves();
  std::array<float, 8 * kSide> rows{};  // [8, kSide]: the frequencies down
  for (int v = 0; v < 8; ++v) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) rows[v * kSide + x] += kWaves[v][y] * small_[y * kSide + x];
    }
  }
  Frequencies result{};
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      float sum = 0;
      for (int x = 0; x < kSide; ++x) sum += kWaves[u][x] * rows[v * kSide + x];
      result[v * 8 + u] = sum;
    }
  }
  return result;
}

PictureHash PictureHasher::hash(std::span<const std::byte> image) {
  const ImageInfo info = decoder_.read_info(image);
  make_small(
      decoder_.read_region({0, 0, info.width, info.height}, kSmallestSide, kSmallestSide).pixels);
  const Frequencies frequencies = lowest_frequencies();
  const float middle = middle_of(frequencies);
  PictureHash hash;
  Frequencies away{};
  for (int i = 0; i < 64; ++i) {
    if (frequencies[i] > middle) hash.bits |= uint64_t{1} << (63 - i);
    away[i] = std::abs(frequencies[i] - middle);
  }
  // A wave of height 1 has kSide^2 / 4 in the sums.
  constexpr float kWave = kSide * kSide / 4.0F;
  hash.contrast = middle_of(away) / kWave;
  hash.is_plain = hash.contrast < kPlainContrast;
  return hash;
}

}  // namespace ffkit
