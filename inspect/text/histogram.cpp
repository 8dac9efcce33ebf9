#include "text/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ffkit {
namespace {

constexpr size_t kMinBins = 6;
constexpr size_t kMaxBins = 14;
constexpr size_t kMinDecades = 4;

// Round numbers of `steps` in every decade, from the last one that is <= low to the first that is >
// high.
std::vector<int64_t> ratio_limits(int64_t low, int64_t high, std::span<const double> steps) {
  std::vector<int64_t> limits;
  for (double decade = 1;; decade *= 10) {
    for (const double step : steps) {
      const double limit = decade * step;
      if (limit != std::floor(limit)) continue;
      if (limit > 9e18) return limits;
      const auto value = static_cast<int64_t>(limit);
      if (value <= low) limits.clear();
      limits.push_back(value);
      if (value > high) return limits;
    }
  }
}

// Multiples of 1, 2 or 5 times a power of ten.
std::vector<int64_t> even_limits(int64_t low, int64_t high) {
  constexpr std::array<int64_t, 3> kSteps = {1, 2, 5};
  int64_t decade = 1;
  size_t step = 0;
  const auto width = [&] { return decade * kSteps[step]; };
  while (high / width() - low / width() + 1 > static_cast<int64_t>(kMaxBins)) {
    step = (step + 1) % kSteps.size();
    if (step == 0) decade *= 10;
  }
  std::vector<int64_t> limits;
  for (int64_t at = low / width() * width(); limits.empty() || limits.back() <= high;
       at += width()) {
    limits.push_back(at);
  }
  return limits;
}

std::vector<int64_t> choose_limits(int64_t low, int64_t high) {
  constexpr std::array<double, 6> kSix = {1, 1.5, 2, 3, 5, 7};
  constexpr std::array<double, 3> kThree = {1, 2, 5};
  constexpr std::array<double, 1> kOne = {1};
  const int64_t first = std::max<int64_t>(low, 1);
  for (const std::span<const double> steps :
       {std::span<const double>(kSix), std::span<const double>(kThree)}) {
    std::vector<int64_t> limits = ratio_limits(first, std::max(high, first), steps);
    if (limits.size() <= kMinBins) break;
    if (limits.size() <= kMaxBins + 1) return limits;
  }
  std::vector<int64_t> limits = ratio_limits(first, std::max(high, first), kOne);
  // Less than about a decade: even widths show more than ratios do.
  return limits.size() >= kMinDecades ? limits : even_limits(low, high);
}

}  // namespace

std::vector<Bin> make_bins(std::span<const int64_t> values) {
  if (values.empty()) return {};
  const auto [low, high] = std::ranges::minmax(values);
  std::vector<int64_t> limits = choose_limits(low, high);
  limits.front() = std::min(limits.front(), low);
  std::vector<Bin> bins;
  for (size_t i = 0; i + 1 < limits.size(); ++i) bins.push_back({limits[i], limits[i + 1], 0});
  for (const int64_t value : values) {
    const auto above = std::ranges::upper_bound(limits, value) - limits.begin();
    ++bins[static_cast<size_t>(above) - 1].count;
  }
  return bins;
}

std::string bar(int64_t count, int64_t largest, int width) {
  if (count <= 0 || largest <= 0) return "";
  const double share = static_cast<double>(count) / static_cast<double>(largest);
  return std::string(std::max(1.0, std::round(share * width)), '#');
}

}  // namespace ffkit
