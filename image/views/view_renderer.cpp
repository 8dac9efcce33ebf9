#include "views/view_renderer.h"

#include <optional>
#include <variant>
#include <vector>

#include "moves/canvas_mover.h"
#include "pixels/pixel_writer.h"
#include "pixels/wide_writer.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"
#include "transform/erasing.h"
#include "transform/float_scaler.h"
#include "transform/photometric.h"
#include "transform/wide_scaler.h"

namespace ffkit {
namespace {

// The filter of a picture of 16 bits, which no Compose takes.
Interpolation interpolation_of(const ImageTransform& transform) {
  return std::visit(
      [](const auto& t) {
        if constexpr (requires { t.interpolation; }) return t.interpolation;
        return Interpolation::bilinear;
      },
      transform);
}

// u16 or i32
bool has_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

}  // namespace

// One move without augmentations writes finished values straight to the output. Otherwise there are
// RGB pixels in between, which are moved, augmented and written. So it is for the numbers of u16 and
// i32. ScalePad has a way of its own, in floats, and pictures of 16 bits have one.
struct ViewRenderer::Impl {
  explicit Impl(const ImageOptions& image_options)
      : options(image_options),
        size(image_size(image_options.transform)),
        is_float(std::holds_alternative<ScalePad>(image_options.transform)),
        is_composed(std::holds_alternative<Compose>(image_options.transform)),
        augments(!is_float && !image_options.augmentations.empty()),
        scalers(image_options.output),
        augmenter(augments ? image_options.augmentations : std::vector<Augmentation>{}, size),
        writer(size, image_options.output),
        number_writer(size, image_options.output),
        wide_scaler(interpolation_of(image_options.transform), size, image_options.output),
        float_scaler(size, image_options.output) {}

  bool makes_pixels(std::span<const Move> moves) const {
    return moves.size() > 1 || augments || has_numbers(options.output);
  }

  void run_bytes(const ImageDecoder::Region& region, std::span<const Move> moves,
                 const SampleKey& key, void* out) {
    if (!makes_pixels(moves)) {
      const auto& plan = std::get<CropPlan>(moves.front().what);
      return scalers.of(plan, size).run(region, plan, out);
    }
    const RgbImage pixels = mover.run(region, moves);
    if (has_numbers(options.output)) return number_writer.run(pixels.data, out);
    augmenter.run(pixels, key);
    writer.run(pixels.data, ptrdiff_t{3} * size.width, out);
  }

  // The same in floats, of the whole picture.
  void run_floats(const RgbView& whole, const CropPlan& plan, const SampleKey& key, void* out) {
    std::optional<RowDistortion> distortion;
    if (!options.augmentations.empty()) {
      const Augmentation& only = options.augmentations.front();
      CounterRandom random(key, augmentation_stream(only.index(), 0));
      distortion = draw_distortion(std::get<PhotoMetricDistortion>(only), random);
    }
    float_scaler.run(whole, plan.resized_width, plan.resized_height,
                     distortion ? &*distortion : nullptr, out);
  }

  void erase_part(const SampleKey& key, void* out) {
    if (!options.erasing) return;
    CounterRandom random(key, kErasingStream);
    erase(*options.erasing, options.output, size, random, out);
  }

  ImageOptions options;
  ImageSize size;
  bool is_float;
  bool is_composed;
  bool augments;
  PlanScalers scalers;
  CanvasMover mover;
  Augmenter augmenter;
  PixelWriter writer;
  WideWriter number_writer;
  WideScaler wide_scaler;
  FloatScaler float_scaler;
};

ViewRenderer::ViewRenderer(const ImageOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ViewRenderer::~ViewRenderer() = default;
ViewRenderer::ViewRenderer(ViewRenderer&&) noexcept = default;
ViewRenderer& ViewRenderer::operator=(ViewRenderer&&) noexcept = default;

// Values of 16 bits are kept: not as bytes, and not where bytes are changed on the way.
bool ViewRenderer::is_wide(const ImageInfo& info) const {
  return info.has_16_bits && !impl_->is_float && !impl_->is_composed && !impl_->augments &&
         impl_->options.output.dtype != DType::u8;
}

WantedPixels ViewRenderer::wanted(std::span<const Move> moves, bool is_wide) {
  const auto& plan = std::get<CropPlan>(moves.front().what);
  if (is_wide) return {impl_->wide_scaler.wanted(plan)};
  if (impl_->is_float) return {plan.box};
  if (impl_->makes_pixels(moves)) return impl_->mover.wanted(moves);
  return impl_->scalers.of(plan, impl_->size).wanted(plan);
}

void ViewRenderer::run(const ImageDecoder::Region& region, std::span<const Move> moves,
                       const SampleKey& key, void* out) {
  if (impl_->is_float) {
    impl_->run_floats(region.pixels, std::get<CropPlan>(moves.front().what), key, out);
  } else {
    impl_->run_bytes(region, moves, key, out);
  }
  impl_->erase_part(key, out);
}

void ViewRenderer::run_wide(const WideRgbView& pixels, const CropPlan& plan, const SampleKey& key,
                            void* out) {
  impl_->wide_scaler.run(pixels, plan, out);
  impl_->erase_part(key, out);
}

}  // namespace ffkit
