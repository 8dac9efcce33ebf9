#include "batch/batch_mixer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <string_view>
#include <variant>

#include <ffkit/format/schema.h>
#include <ffkit/loader/loader_options.h>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "image/random_numbers/random_streams.h"

namespace ffkit {
namespace {

// Uniform in (0, 1].
double uniform_above_zero(CounterRandom& random) {
  return 1 - random.uniform();
}

double draw_normal(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(uniform_above_zero(random)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The logarithm of a Gamma(alpha, 1) number. Below about 1e-307 its last summand, log_uniform /
// alpha, may be minus infinity.
struct LogGamma {
  double value = 0;
  double log_uniform = 0;
};

LogGamma draw_log_gamma(double alpha, CounterRandom& random) {
  double log_uniform = 0;
  double log_boost = 0;
  if (alpha < 1) {
    log_uniform = std::log(uniform_above_zero(random));
    log_boost = log_uniform / alpha;
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    const double u = uniform_above_zero(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return {std::log(d * v) + log_boost, log_uniform};
    }
  }
}

// One axis of CutMix's box.
void cut(int64_t length, double ratio, CounterRandom& random, int& first, int& count) {
  const int64_t center = random.below(length);
  const auto half = static_cast<int64_t>(ratio * static_cast<double>(length));
  const int64_t begin = std::max<int64_t>(center - half, 0);
  first = static_cast<int>(begin);
  count = static_cast<int>(std::min(center + half, length) - begin);
}

}  // namespace

double draw_beta(double alpha, CounterRandom& random) {
  const LogGamma a = draw_log_gamma(alpha, random);
  const LogGamma b = draw_log_gamma(alpha, random);
  if (std::isinf(a.value) && std::isinf(b.value)) return a.log_uniform > b.log_uniform ? 1 : 0;
  return 1 / (1 + std::exp(b.value - a.value));
}

MixDraw draw_mix(const MixOptions& options, CounterRandom& random, ImageSize size) {
  MixDraw draw;
  draw.is_cutmix = options.cutmix_alpha > 0;
  if (draw.is_cutmix && options.mixup_alpha > 0) draw.is_cutmix = random.below(2) == 1;
  draw.lambda = draw_beta(draw.is_cutmix ? options.cutmix_alpha : options.mixup_alpha, random);
  if (!draw.is_cutmix) return draw;
  const double ratio = 0.5 * std::sqrt(1 - draw.lambda);
  cut(size.width, ratio, random, draw.box.x, draw.box.width);
  cut(size.height, ratio, random, draw.box.y, draw.box.height);
  const double area = static_cast<double>(draw.box.width) * draw.box.height;
  draw.lambda = 1 - area / static_cast<double>(size.width * size.height);
  return draw;
}

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
                const ImageOutput& output, void* scratch) {
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
  for (size_t i = 0; i < spans.count(); ++i) {
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

void validate(const MixOptions& options) {
  constexpr double kMaxAlpha = 1000;
  check_between("MixOptions mixup_alpha", options.mixup_alpha, 0, kMaxAlpha);
  check_between("MixOptions cutmix_alpha", options.cutmix_alpha, 0, kMaxAlpha);
}

namespace {

[[noreturn]] void refuse_unmixed(const std::string& name, std::string_view why) {
  throw error_of(ErrorCode::invalid_argument,
                 "mixing cannot change the batch's field '{}', because the field {}; leave out the "
                 "field or mixing",
                 name, why);
}

// What CutMix cuts as it cuts the pictures. Throws Error(invalid_argument) for anything else.
ImageOutput output_of_follower(const ViewField& field) {
  constexpr ImageOutput kNumbers{.layout = Layout::nhwc, .normalize = false, .channels = 1};
  ImageOutput output = kNumbers;
  if (const auto* picture = std::get_if<PictureField>(&field.what)) return picture->output;
  if (const auto* mask = std::get_if<MaskField>(&field.what)) {
    output.dtype = mask->mask.dtype;
  } else if (std::holds_alternative<PixelMaskField>(field.what)) {
    output.dtype = DType::u8;
  } else {
    refuse_unmixed(field.name, "belongs to whole pictures, as boxes, points and clips do");
  }
  return output;
}

}  // namespace

BatchMixer::BatchMixer(const LoaderOptions& options, const SlabLayout& layout)
    : options_(options), layout_(layout) {
  validate(options.mixing);
  if (!options.mixing.is_on()) return;
  if (layout.image < 0) {
    throw Error(ErrorCode::invalid_argument,
                "mixing needs images; give image_field, or leave out mixing");
  }
  const DType dtype = options.image.output.dtype;
  if (dtype == DType::u16 || dtype == DType::i32) {
    throw error_of(ErrorCode::invalid_argument,
                   "mixing blends colours, but {} output keeps the values of the file; give a "
                   "dtype of f32, f16, bf16 or u8, or leave out mixing",
                   to_string(dtype));
  }
  mixed_ = {{static_cast<size_t>(layout.image), options.image.output}};
  const ImageSize size = image_size(options.image.transform);
  const std::array<int64_t, 2> sides = {size.height, size.width};
  for (const BatchField& field : options.fields) {
    // Decoders of one picture and of several, also behind zeros_where_null(), share this memory.
    const auto scratch = field.decoder->make_scratch();
    if (dynamic_cast<ImageFieldDecoder::ImageScratch*>(scratch.get()) != nullptr) {
      refuse_unmixed(field.name, "is a separate picture (CutMix can cut a PictureField)");
    }
    const std::vector<int64_t> shape = field.decoder->shape();
    if (shape.size() >= 2 && std::ranges::equal(std::span(shape).last(2), sides)) {
      refuse_unmixed(field.name, "has a number for each pixel (CutMix can cut a MaskField)");
    }
  }
  for (const ViewField& field : options.view_fields) {
    const ImageOutput output = output_of_follower(field);
    if (options.mixing.mixup_alpha > 0) {
      refuse_unmixed(field.name,
                     "cannot be blended by MixUp (CutMix can cut the field if MixUp is off)");
    }
    const auto found = std::ranges::find(layout.fields, field.name, &SlabField::name);
    mixed_.push_back({static_cast<size_t>(found - layout.fields.begin()), output});
  }
  size_t most = 0;
  for (const Mixed& one : mixed_) most = std::max(most, layout.fields[one.field].bytes_per_sample);
  scratch_.resize(options.num_threads);
  for (auto& sample : scratch_) sample.resize(most);
}

void BatchMixer::run(int worker, BatchSlab& slab) {
  slab.mix_lambda = 1;
  if (!options_.mixing.is_on()) return;
  const ImageSize size = image_size(options_.image.transform);
  CounterRandom random({options_.sampler.seed, slab.epoch, slab.position}, kMixingStream);
  const MixDraw draw = draw_mix(options_.mixing, random, size);
  for (const auto& [field, output] : mixed_) {
    std::byte* const values = slab.memory + layout_.fields[field].offset;
    mix_images(draw, values, slab.size, size, output, scratch_[worker].data());
  }
  slab.mix_lambda = draw.lambda;
}

}  // namespace ffkit
