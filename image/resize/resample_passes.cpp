#include "resize/resample_passes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

namespace ffkit {
namespace {

// To the nearest, halves away from zero.
int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << AxisFilter::kPrecisionBits);
  return static_cast<int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

}  // namespace

void AxisFilter::build(int in_size, double box_begin, double box_end, int out_size, int out_first,
                       int out_count, Interpolation interpolation) {
  if (interpolation == Interpolation::bicubic) {
    build_with(CubicFilter(), in_size, box_begin, box_end, out_size, out_first, out_count);
  } else {
    build_with(TriangleFilter(), in_size, box_begin, box_end, out_size, out_first, out_count);
  }
}

template <typename Filter>
void AxisFilter::build_with(const Filter& filter, int in_size, double box_begin, double box_end,
                            int out_size, int out_first, int out_count) {
  const AxisStretch axis{in_size, box_begin, box_end, out_size, out_first, out_count};
  const size_t most = max_taps<Filter>(axis);
  weights_.resize(most * static_cast<size_t>(out_count));
  taps_.resize(out_count);
  begin_ = in_size;
  end_ = 0;
  for_each_output(filter, axis, scratch_, [&](int i, int first, std::span<const double> exact) {
    int32_t* weights = &weights_[most * static_cast<size_t>(i)];
    auto count = static_cast<int>(exact.size());
    std::ranges::transform(exact, weights, to_fixed);
    // Zero weights at the ends change nothing but the time it takes.
    while (count > 1 && weights[count - 1] == 0) --count;
    while (count > 1 && weights[0] == 0) {
      ++weights;
      ++first;
      --count;
    }
    taps_[i] = {first, count, weights};
    begin_ = std::min(begin_, first);
    end_ = std::max(end_, first + count);
  });
  for (Taps& taps : taps_) taps.first -= begin_;
}

void LinearAxis::build(int in_size, int out_size) {
  if (in_size == num_inputs_ && out_size == num_outputs_) return;
  num_inputs_ = in_size;
  num_outputs_ = out_size;
  index_.assign(static_cast<size_t>(out_size) + kMaxLanes, 0);
  weight_.assign(static_cast<size_t>(out_size) + kMaxLanes, 0);
  // As OpenCV has it, in these steps: the last bit of `center` depends on them.
  const double factor = static_cast<double>(out_size) / in_size;
  const double scale = 1 / factor;
  for (int i = 0; i < out_size; ++i) {
    const auto center = static_cast<float>((i + 0.5) * scale - 0.5);
    auto first = static_cast<int>(std::floor(center));
    float weight = center - static_cast<float>(first);
    if (first < 0 || in_size == 1) {
      first = 0;
      weight = 0;
    } else if (first >= in_size - 1) {
      first = in_size - 2;
      weight = 1;
    }
    index_[i] = first;
    weight_[i] = weight;
  }
}

namespace {

size_t round_up_size(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

size_t row_bytes(int width) {
  return round_up_size(size_t{3} * static_cast<size_t>(width), kRowBlock);
}

// Grows only: what it holds is scratch.
uint8_t* ResamplePasses::reserve(std::vector<Line>& lines, size_t num_bytes) {
  const size_t needed = num_bytes / sizeof(Line) + 2;
  if (lines.size() < needed) lines.resize(needed);
  return lines.front().bytes;
}

ResamplePasses::Rows ResamplePasses::horizontal(const uint8_t* pixels, ptrdiff_t stride,
                                                int num_rows, const AxisFilter& filter, bool flip,
                                                bool planar) {
  const int num_inputs = filter.end() - filter.begin();
  const size_t out_bytes = row_bytes(filter.num_outputs());
  const size_t num_blocks = round_up_size(static_cast<size_t>(num_rows), kRowBlock) / kRowBlock;
  HorizontalJob job;
  job.filter = &filter;
  job.flip = flip;
  job.planar = planar;
  job.columns = reserve(columns_, row_bytes(num_inputs) * kRowBlock);
  job.results = reserve(results_, out_bytes * kRowBlock);
  job.out = reserve(rows_, num_blocks * kRowBlock * out_bytes + kReadableBytes);
  job.out_stride = static_cast<ptrdiff_t>(out_bytes);
  const Rows rows{job.out, job.out_stride};
  for (int row = 0; row < num_rows; row += kRowBlock) {
    for (int i = 0; i < kRowBlock; ++i) {
      job.rows[i] = pixels + std::min(row + i, num_rows - 1) * stride;
    }
    resample_horizontal(job);
    job.out += kRowBlock * job.out_stride;
  }
  return rows;
}

void ResamplePasses::vertical(const VerticalJob& job) {
  if (job.num_columns >= kMaxLanes) return resample_vertical(job);
  const auto num_rows = static_cast<size_t>(job.filter->num_outputs());
  const size_t line_bytes = kMaxLanes * size_of(job.dtype);
  narrow_.resize(num_rows * line_bytes);
  VerticalJob wide = job;
  wide.num_columns = kMaxLanes;
  wide.out = narrow_.data();
  wide.out_stride_bytes = static_cast<ptrdiff_t>(line_bytes);
  resample_vertical(wide);
  auto* out = static_cast<uint8_t*>(job.out);
  for (size_t row = 0; row < num_rows; ++row, out += job.out_stride_bytes) {
    std::memcpy(out, narrow_.data() + row * line_bytes, job.num_columns * size_of(job.dtype));
  }
}

}  // namespace ffkit
