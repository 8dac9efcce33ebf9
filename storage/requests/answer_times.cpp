#include "requests/answer_times.h"

#include <algorithm>
#include <bit>

namespace ffkit {
namespace {

// A quantile is taken anew after so many answers.
constexpr int64_t kAddedBetweenQuantiles = 10;

int size_class(int64_t num_bytes) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(num_bytes))) / 2;
}

}  // namespace

void AnswerTimes::add(int64_t num_bytes, double seconds) {
  Times& times = by_size_[size_class(num_bytes)];
  times.kept[static_cast<size_t>(times.num_added++) % kNumKept] = static_cast<float>(seconds);
}

std::optional<double> AnswerTimes::quantile(int64_t num_bytes, int least) {
  Times& times = by_size_[size_class(num_bytes)];
  if (times.num_added < std::max(least, 1)) return std::nullopt;
  if (times.num_added_at_quantile < 0 ||
      times.num_added - times.num_added_at_quantile >= kAddedBetweenQuantiles) {
    const size_t num = std::min(static_cast<size_t>(times.num_added), kNumKept);
    sorted_.assign(times.kept.begin(), times.kept.begin() + static_cast<int64_t>(num));
    const auto at = std::min(num - 1, static_cast<size_t>(quantile_ * static_cast<double>(num)));
    const auto place = sorted_.begin() + static_cast<int64_t>(at);
    std::nth_element(sorted_.begin(), place, sorted_.end());
    times.quantile = *place;
    times.num_added_at_quantile = times.num_added;
  }
  return times.quantile;
}

}  // namespace ffkit
