// AxisFilter: the weights of Pillow's antialiased bilinear or bicubic resize along one axis, in
// Pillow's 8-bit fixed point.
//
// Formulas and rounding are those of precompute_coeffs() and normalize_coeffs_8bpc() in Pillow's
// src/libImaging/Resample.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/image/interpolation.h>

namespace ffkit {

class AxisFilter {
 public:
  AxisFilter() = default;
  AxisFilter(const AxisFilter&) = delete;  // taps point into its weights
  AxisFilter& operator=(const AxisFilter&) = delete;

  // Weights are in units of 2^-22; those of an output add up to about 1.
  static constexpr int kPrecisionBits = 32 - 8 - 2;

  // Filter from input pixels 0 .. in_size-1, of which [box_begin, box_end) is stretched to out_size
  // outputs; of these only out_first .. out_first+out_count-1 are made. Pixels outside the box but
  // within the input are used, as in Pillow. Keeps its memory between calls.
  void build(int in_size, double box_begin, double box_end, int out_size, int out_first,
             int out_count, Interpolation interpolation = Interpolation::bilinear);

  int num_outputs() const { return static_cast<int>(taps_.size()); }
  // Inputs begin() .. end()-1 are used by some output.
  int begin() const { return begin_; }
  int end() const { return end_; }

  struct Taps {
    int first = 0;  // input that weights[0] applies to, counted from begin()
    int count = 0;  // at least 1
    const int32_t* weights = nullptr;
  };
  const Taps& taps(int output) const { return taps_[output]; }

 private:
  template <typename Filter>
  void build_with(const Filter& filter, int in_size, double box_begin, double box_end, int out_size,
                  int out_first, int out_count);

  int begin_ = 0;
  int end_ = 0;
  std::vector<Taps> taps_;
  std::vector<int32_t> weights_;
  std::vector<double> scratch_;
};

}  // namespace ffkit
