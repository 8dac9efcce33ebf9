// AnswerTimes: how long ranges take, by their size, of which it tells when one takes too long.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ffkit {

class AnswerTimes {
 public:
  // `quantile` 0.95: the time that 95 of 100 do not exceed.
  explicit AnswerTimes(double quantile) : quantile_(quantile) {}

  void add(int64_t num_bytes, double seconds);
  // The quantile of the last 200 of a similar size, which is the same number of bits but one.
  // Nothing before there were `least`.
  std::optional<double> quantile(int64_t num_bytes, int least);

 private:
  static constexpr size_t kNumKept = 200;
  struct Times {
    std::array<float, kNumKept> kept{};
    int64_t num_added = 0;
    int64_t num_added_at_quantile = -1;
    double quantile = 0;
  };

  const double quantile_;
  std::map<int, Times> by_size_;
  std::vector<float> sorted_;
};

}  // namespace ffkit
