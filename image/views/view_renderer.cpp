#include "views/view_renderer.h"

#include <optional>
#include <variant>
#include <vector>

#include "pixels/pixel_ops.h"
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

constexpr ImageOutput kPixels{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

// u16 or i32
bool has_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

}  // namespace

// Without augmentations the scaler writes finished values straight to the output; otherwise RGB to
// `pixels`, which are augmented and written. So are the numbers of u16 and i32. ScalePad has a way
// of its own, in floats, and pictures of 16 bits have one.
struct ViewRenderer::Impl {
  explicit Impl(const ImageOptions& image_options)
      : options(image_options),
        size(image_size(image_options.transform)),
        is_float(std::holds_alternative<ScalePad>(image_options.transform)),
        augments(!is_float && !image_options.augmentations.empty()),
        makes_pixels(augments || has_numbers(image_options.output)),
        scaler(make_scaler(interpolation_of(image_options.transform), size,
                           makes_pixels ? kPixels : image_options.output)),
        copier(make_copier(size, makes_pixels ? kPixels : image_options.output)),
        augmenter(augments ? image_options.augmentations : std::vector<Augmentation>{}, size),
        writer(size, image_options.output),
        number_writer(size, image_options.output),
        wide_scaler(interpolation_of(image_options.transform), size, image_options.output),
        float_scaler(size, image_options.output) {
    if (makes_pixels) {
      pixels.resize(static_cast<size_t>(3 * size.width * size.height) + kScratchSlack);
    }
  }

  PictureScaler& chosen(const CropPlan& plan) { return plan.resizes() ? *scaler : *copier; }

  void run_bytes(const ImageDecoder::Region& region, const CropPlan& plan, const SampleKey& key,
                 void* out) {
    chosen(plan).run(region, plan, makes_pixels ? pixels.data() : out);
    if (!makes_pixels) return;
    if (!augments) return number_writer.run(pixels.data(), out);
    augmenter.run({pixels.data(), static_cast<int>(size.width), static_cast<int>(size.height)},
                  key);
    writer.run(pixels.data(), ptrdiff_t{3} * size.width, out);
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
  bool augments;
  bool makes_pixels;
  std::unique_ptr<PictureScaler> scaler;
  std::unique_ptr<PictureScaler> copier;
  Augmenter augmenter;
  PixelWriter writer;
  WideWriter number_writer;
  WideScaler wide_scaler;
  std::vector<uint8_t> pixels;  // [height, width, 3] and slack
  FloatScaler float_scaler;
};

ViewRenderer::ViewRenderer(const ImageOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ViewRenderer::~ViewRenderer() = default;
ViewRenderer::ViewRenderer(ViewRenderer&&) noexcept = default;
ViewRenderer& ViewRenderer::operator=(ViewRenderer&&) noexcept = default;

// Values of 16 bits are kept: not as bytes, and not where bytes are changed on the way.
bool ViewRenderer::is_wide(const ImageInfo& info) const {
  return info.has_16_bits && !impl_->is_float && !impl_->augments &&
         impl_->options.output.dtype != DType::u8;
}

WantedPixels ViewRenderer::wanted(const CropPlan& plan, bool is_wide) {
  if (is_wide) return {impl_->wide_scaler.wanted(plan)};
  if (impl_->is_float) return {plan.box};
  return impl_->chosen(plan).wanted(plan);
}

void ViewRenderer::run(const ImageDecoder::Region& region, const CropPlan& plan,
                       const SampleKey& key, void* out) {
  if (impl_->is_float) {
    impl_->run_floats(region.pixels, plan, key, out);
  } else {
    impl_->run_bytes(region, plan, key, out);
  }
  impl_->erase_part(key, out);
}

void ViewRenderer::run_wide(const WideRgbView& pixels, const CropPlan& plan, const SampleKey& key,
                            void* out) {
  impl_->wide_scaler.run(pixels, plan, out);
  impl_->erase_part(key, out);
}

}  // namespace ffkit
