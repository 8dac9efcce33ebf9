// The pace that a Requester learns of its store: how many requests it takes at a time, and how long
// they take.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ffkit {

// InFlightLimit: how many requests a store takes at a time, found out by asking (AIMD, as TCP has
// it): one more after each round of answers, half as many when the store says that it is too much.
class InFlightLimit {
 public:
  InFlightLimit(int least, int most)
      : least_(std::max(least, 1)), most_(std::max(most, least_)), value_(most_) {}

  int value() const { return value_; }
  // Of the limit that a request is sent under.
  uint32_t generation() const { return generation_; }

  void succeeded() {
    if (value_ >= most_ || ++num_succeeded_ < value_) return;
    num_succeeded_ = 0;
    ++value_;
  }
  // `generation` is that of the refused request: those that were in flight when the limit was
  // halved do not halve it again.
  void throttled(uint32_t generation) {
    if (generation != generation_) return;
    ++generation_;
    num_succeeded_ = 0;
    value_ = std::max(value_ / 2, least_);
  }

 private:
  const int least_;
  const int most_;
  int value_;
  int num_succeeded_ = 0;
  uint32_t generation_ = 0;
};

// AnswerTimes: how long ranges take, by their size, of which it tells when one takes too long.
class AnswerTimes {
 public:
  // `quantile` 0.95: the time that 95 of 100 do not exceed.
  explicit AnswerTimes(double quantile) : quantile_(quantile) {}

  void add(int64_t num_bytes, double seconds) {
    Times& times = by_size_[size_class(num_bytes)];
    times.kept[static_cast<size_t>(times.num_added++) % kNumKept] = static_cast<float>(seconds);
  }
  // The quantile of the last 200 of a similar size, which is the same number of bits but one.
  // Nothing before there were `least`.
  std::optional<double> quantile(int64_t num_bytes, int least) {
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

 private:
  static constexpr size_t kNumKept = 200;
  // A quantile is taken anew after so many answers.
  static constexpr int64_t kAddedBetweenQuantiles = 10;
  struct Times {
    std::array<float, kNumKept> kept{};
    int64_t num_added = 0;
    int64_t num_added_at_quantile = -1;
    double quantile = 0;
  };

  static int size_class(int64_t num_bytes) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(num_bytes))) / 2;
  }

  const double quantile_;
  std::map<int, Times> by_size_;
  std::vector<float> sorted_;
};

}  // namespace ffkit
