#include "batch/mix_images.h"

#include <algorithm>
#include <cstring>

#include "batch/mix_kernels.h"

namespace ffkit {
namespace {

// A run of bytes at the same place of every sample.
struct Span {
  size_t begin;
  size_t num_bytes;
};

// What of a sample is mixed, as spans that are done one after another: each is short enough that a
// sample's is still in the first cache when the next sample needs it.
class MixSpans {
 public:
  MixSpans(const MixDraw& draw, ImageSize size, const ImageOutput& output)
      : box_(draw.box), is_cutmix_(draw.is_cutmix) {
    const auto area = static_cast<size_t>(size.height * size.width);
    const auto channels = static_cast<size_t>(output.channels);
    sample_bytes_ = channels * area * size_of(output.dtype);
    const bool is_planar = output.layout == Layout::nchw;
    pixel_bytes_ = (is_planar ? 1 : channels) * size_of(output.dtype);
    row_bytes_ = static_cast<size_t>(size.width) * pixel_bytes_;
    plane_bytes_ = area * pixel_bytes_;
    const auto box_rows = static_cast<size_t>(box_.height) * (is_planar ? channels : 1);
    count_ = is_cutmix_ ? box_rows : (sample_bytes_ + kBlockBytes - 1) / kBlockBytes;
  }

  size_t count() const { return count_; }
  Span operator[](size_t i) const {
    if (!is_cutmix_) {
      const size_t begin = i * kBlockBytes;
      return {begin, std::min(kBlockBytes, sample_bytes_ - begin)};
    }
    const auto height = static_cast<size_t>(box_.height);
    const size_t row = static_cast<size_t>(box_.y) + i % height;
    return {
        i / height * plane_bytes_ + row * row_bytes_ + static_cast<size_t>(box_.x) * pixel_bytes_,
        static_cast<size_t>(box_.width) * pixel_bytes_};
  }

 private:
  static constexpr size_t kBlockBytes = size_t{8} << 10;

  Rect box_;
  bool is_cutmix_;
  size_t sample_bytes_;
  size_t pixel_bytes_;
  size_t row_bytes_;
  size_t plane_bytes_;
  size_t count_;
};

}  // namespace

void mix_images(const MixDraw& draw, void* images, int64_t num_samples, ImageSize size,
                const ImageOutput& output, void* scratch, const MixSlice& slice) {
  if (num_samples == 0) return;
  const size_t sample_bytes =
      static_cast<size_t>(output.channels * size.height * size.width) * size_of(output.dtype);
  const MixSpans spans(draw, size, output);
  const auto mix = [&](uint8_t* sample, const uint8_t* before, size_t num_bytes) {
    if (draw.is_cutmix) {
      std::memcpy(sample, before, num_bytes);
      return;
    }
    mix_values({.values = sample,
                .others = before,
                .num_values = num_bytes / size_of(output.dtype),
                .dtype = output.dtype,
                .weight = static_cast<float>(draw.lambda),
                .other_weight = static_cast<float>(1 - draw.lambda)});
  };
  const auto first_span = [&](int number) {
    return spans.count() * static_cast<size_t>(number) / static_cast<size_t>(slice.count);
  };
  for (size_t i = first_span(slice.number); i < first_span(slice.number + 1); ++i) {
    const Span span = spans[i];
    uint8_t* first = static_cast<uint8_t*>(images) + span.begin;
    uint8_t* last = first + static_cast<size_t>(num_samples - 1) * sample_bytes;
    uint8_t* saved = static_cast<uint8_t*>(scratch) + span.begin;
    // From the back, every sample still finds the one before it unchanged; the first finds the last
    // in the scratch.
    std::memcpy(saved, last, span.num_bytes);
    for (uint8_t* sample = last; sample != first; sample -= sample_bytes) {
      mix(sample, sample - sample_bytes, span.num_bytes);
    }
    mix(first, saved, span.num_bytes);
  }
}

}  // namespace ffkit
