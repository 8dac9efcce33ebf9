// The resize: the weights of an axis, the vector loops, and the two passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_resizer.h>

namespace ffkit {

// Where a resize looks along one axis, and with which weights: Pillow's filters and OpenCV's.

// The weights of Pillow's antialiased bilinear or bicubic resize along one axis. Formulas and their
// order are those of precompute_coeffs() in Pillow's src/libImaging/Resample.c.

// Pillow's bilinear_filter() and bicubic_filter(), in its order of operations; x >= 0.
struct TriangleFilter {
  static constexpr double kSupport = 1;
  double operator()(double x) const { return x < 1.0 ? 1.0 - x : 0.0; }
};

struct CubicFilter {
  static constexpr double kSupport = 2;
  double operator()(double x) const {
    constexpr double kA = -0.5;
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

// An axis of in_size pixels, of which [box_begin, box_end) is stretched to out_size outputs; of
// these only out_first .. out_first+out_count-1 are made.
struct AxisStretch {
  int in_size = 0;
  double box_begin = 0;
  double box_end = 0;
  int out_size = 0;
  int out_first = 0;
  int out_count = 0;
};

// The most weights that an output has.
template <typename Filter>
size_t max_taps(const AxisStretch& axis) {
  const double filter_scale = std::max((axis.box_end - axis.box_begin) / axis.out_size, 1.0);
  return static_cast<size_t>(std::ceil(Filter::kSupport * filter_scale)) * 2 + 1;
}

// Calls use(i, first, weights) for each output i from 0 on: the weights of the inputs from `first`
// on, which add up to 1. `scratch` holds them.
template <typename Filter, typename Use>
void for_each_output(const Filter& filter, const AxisStretch& axis, std::vector<double>& scratch,
                     const Use& use) {
  const double scale = (axis.box_end - axis.box_begin) / axis.out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = Filter::kSupport * filter_scale;
  const double inverse_scale = 1.0 / filter_scale;
  scratch.resize(max_taps<Filter>(axis));
  for (int i = 0; i < axis.out_count; ++i) {
    const double center = axis.box_begin + (axis.out_first + i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), axis.in_size);
    const auto count = static_cast<size_t>(last - first);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const double weight =
          filter(std::abs((static_cast<int>(k) + first - center + 0.5) * inverse_scale));
      scratch[k] = weight;
      sum += weight;
    }
    for (size_t k = 0; k < count; ++k) scratch[k] /= sum;
    use(i, first, std::span<const double>(scratch.data(), count));
  }
}

// The same weights in Pillow's 8-bit fixed point, with the rounding of its normalize_coeffs_8bpc().
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

// Where OpenCV's bilinear filter looks along one axis.
//
// Positions are those of cv::resize with INTER_LINEAR: the centre of an output pixel among the
// input's, in f32. The filter is not widened when it shrinks. Keeps its memory between pictures.
class LinearAxis {
 public:
  // From in_size to out_size values, both at least 1.
  void build(int in_size, int out_size);

  int num_outputs() const { return num_outputs_; }
  // Output i is input index()[i] times (1 - weight()[i]) plus the next input times weight()[i].
  // Both inputs exist; of an axis of one input the weight is 0. kMaxLanes more of both may be read.
  const int32_t* index() const { return index_.data(); }
  const float* weight() const { return weight_.data(); }

  // Output i is input i.
  bool is_same() const { return num_outputs_ == num_inputs_; }
  // Output i is the mean of the inputs 2 * i and 2 * i + 1.
  bool is_half() const { return num_inputs_ == 2 * num_outputs_; }

 private:
  int num_inputs_ = 0;
  int num_outputs_ = 0;
  std::vector<int32_t> index_;
  std::vector<float> weight_;
};

// The vector loops of the resize, compiled for several instruction sets; the processor's best is
// taken at run time.
//
// Both passes round to 8 bits, as Pillow's do. The horizontal pass works on 16 rows at a time,
// transposed so that a register holds the same column of all of them: every output is then plain
// multiplications by a broadcast weight.

// The vector loops work on whole registers, of up to so many values.
constexpr size_t kMaxLanes = 16;
constexpr int kRowBlock = 16;  // rows that the horizontal pass works on at once

// One block of the horizontal pass.
struct HorizontalJob {
  // at the column of filter->begin(); kRowBlock bytes behind the last column are read
  const uint8_t* rows[kRowBlock];
  const AxisFilter* filter = nullptr;
  bool flip = false;           // output i goes to column num_outputs-1-i
  bool planar = false;         // output [3][num_outputs], else [num_outputs][3]
  uint8_t* columns = nullptr;  // scratch, aligned: [round_up(3 * inputs, 16)][16]
  uint8_t* results = nullptr;  // scratch, aligned: [round_up(3 * outputs, 16)][16]
  uint8_t* out = nullptr;      // kRowBlock rows of round_up(3 * outputs, 16) bytes
  ptrdiff_t out_stride = 0;
};
void resample_horizontal(const HorizontalJob& job);

// A part of the rows of the vertical pass, and what becomes of its 8-bit results.
struct VerticalJob {
  const uint8_t* rows = nullptr;  // of filter->begin()
  ptrdiff_t stride = 0;
  size_t num_columns = 0;  // bytes of each row
  const AxisFilter* filter = nullptr;
  DType dtype = DType::u8;  // u8, f16, bf16 or f32
  // [num_columns]; result * scale + bias, rounded to nearest even; not used for u8.
  const float* scale = nullptr;
  const float* bias = nullptr;
  void* out = nullptr;
  ptrdiff_t out_stride_bytes = 0;
};
void resample_vertical(const VerticalJob& job);

// Whether Pillow from version 13 on makes the vertical pass first when it resizes width x height
// pixels to these: found by trying it on thousands of sizes. All versions before always make the
// horizontal one first.
inline bool is_vertical_first(double width, double height, int new_width, int new_height) {
  return height > new_height && height - new_height > 2 * (width - new_width);
}

// Of a row of RGB pixels, in whole blocks of columns.
size_t row_bytes(int width);

// ResamplePasses: the two passes of a resize over any number of rows, each rounding to 8 bits.
// Keeps its memory between pictures. Not thread-safe.
class ResamplePasses {
 public:
  struct Rows {
    uint8_t* data = nullptr;
    ptrdiff_t stride = 0;  // row_bytes(number of outputs)
  };

  // `num_rows` rows of pixels, [filter.num_outputs()][3] or, planar, [3][filter.num_outputs()].
  // `pixels` is the one at (filter.begin(), first row), rows `stride` bytes apart; 16 bytes behind
  // the last one needed may be read. The result lives until the next call; kReadableBytes behind it
  // may be read.
  Rows horizontal(const uint8_t* pixels, ptrdiff_t stride, int num_rows, const AxisFilter& filter,
                  bool flip = false, bool planar = false);

  // resample_vertical(), also of rows of fewer columns than a register has.
  void vertical(const VerticalJob& job);

  static constexpr size_t kReadableBytes = 64;

 private:
  // 16-byte aligned parts of one allocation each; see HorizontalJob.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  static uint8_t* reserve(std::vector<Line>& lines, size_t num_bytes);

  std::vector<Line> columns_;
  std::vector<Line> results_;
  std::vector<Line> rows_;
  std::vector<uint8_t> narrow_;
};

// cv::resize, for Interpolation::opencv_bilinear.

// Whether this build has OpenCV.
bool has_opencv();

// cv::resize with INTER_LINEAR of `pixels` to the width x height pixels of three bytes at `out`,
// without gaps between rows. Throws Error(unsupported) without OpenCV.
void resize_by_opencv(const RgbView& pixels, int width, int height, uint8_t* out);
void resize_by_opencv(const WideRgbView& pixels, int width, int height, uint16_t* out);

}  // namespace ffkit
