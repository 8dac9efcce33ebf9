// InFlightLimit: how many requests a store takes at a time, found out by asking (AIMD, as TCP has
// it): one more after each round of answers, half as many when the store says that it is too much.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ffkit {

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

}  // namespace ffkit
