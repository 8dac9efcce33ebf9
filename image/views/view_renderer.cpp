#include "views/view_renderer.h"

#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include "base/make_error.h"
#include "moves/canvas_mover.h"
#include "pixels/pixel_ops.h"
#include "pixels/pixel_writer.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"
#include "transform/erasing.h"
#include "transform/float_scaler.h"
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

void require_grey(const WideRgbView& pixels) {
  for (int y = 0; y < pixels.height; ++y) {
    const uint16_t* row = pixels.data + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, row += 3) {
      if (row[0] == row[1] && row[0] == row[2]) continue;
      throw Error(ErrorCode::unsupported,
                  "a picture of 16 bits in colours, whose values have no grey; load it with 3 "
                  "channels, or as bytes");
    }
  }
}

}  // namespace

// One move without augmentations writes finished values straight to the output. Otherwise there are
// RGB pixels in between, which are moved, augmented and written. So it is for the numbers of u16
// and i32. ScalePad has a way of its own, in floats, and pictures of 16 bits have one.
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
        float_scaler(size, image_options.output) {
    if (is_grey())
      colours.resize(static_cast<size_t>(3 * size.width * size.height) * value_bytes());
  }

  bool is_grey() const { return options.output.channels == 1; }
  size_t value_bytes() const { return size_of(options.output.dtype); }

  bool makes_pixels(std::span<const Move> moves) const {
    return moves.size() > 1 || augments || is_grey() || has_numbers(options.output);
  }

  void run_bytes(const ImageDecoder::Region& region, std::span<const Move> moves,
                 const SampleKey& key, void* out) {
    if (!makes_pixels(moves)) {
      const auto& plan = std::get<CropPlan>(moves.front().what);
      return scalers.of(plan, size).run(region, plan, out);
    }
    const RgbImage pixels = mover.run(region, moves);
    if (has_numbers(options.output)) {
      if (is_grey()) grayscale(pixels);
      return number_writer.run(pixels.data, out);
    }
    augmenter.run(pixels, key);
    if (is_grey()) grayscale(pixels);
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

  // The first of three equal channels.
  void write_grey(void* out) const {
    const size_t num_pixels = static_cast<size_t>(size.width) * static_cast<size_t>(size.height);
    if (options.output.layout == Layout::nchw) {
      std::memcpy(out, colours.data(), num_pixels * value_bytes());
      return;
    }
    auto* to = static_cast<std::byte*>(out);
    for (size_t i = 0; i < num_pixels; ++i) {
      std::memcpy(to + i * value_bytes(), &colours[3 * i * value_bytes()], value_bytes());
    }
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
  std::vector<std::byte> colours;  // of grey output: three channels of it
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
  void* to = impl_->is_grey() ? impl_->colours.data() : out;
  if (impl_->is_float) {
    impl_->run_floats(region.pixels, std::get<CropPlan>(moves.front().what), key, to);
  } else {
    impl_->run_bytes(region, moves, key, to);
  }
  impl_->erase_part(key, to);
  if (impl_->is_grey()) impl_->write_grey(out);
}

void ViewRenderer::run_wide(const WideRgbView& pixels, const CropPlan& plan, const SampleKey& key,
                            void* out) {
  void* to = impl_->is_grey() ? impl_->colours.data() : out;
  if (impl_->is_grey()) require_grey(pixels);
  impl_->wide_scaler.run(pixels, plan, to);
  impl_->erase_part(key, to);
  if (impl_->is_grey()) impl_->write_grey(out);
}

void ViewRenderer::clear_padding(ImageSize picture, void* out) const {
  const ImageSize& size = impl_->size;
  if (picture.width == size.width && picture.height == size.height) return;
  const ImageOutput& output = impl_->options.output;
  const bool is_planar = output.layout == Layout::nchw;
  const int64_t num_planes = is_planar ? output.channels : 1;
  const size_t pixel_bytes =
      impl_->value_bytes() * static_cast<size_t>(is_planar ? 1 : output.channels);
  auto* row = static_cast<std::byte*>(out);
  for (int64_t i = 0; i < num_planes * size.height; ++i) {
    const int64_t kept = i % size.height < picture.height ? picture.width : 0;
    std::memset(row + static_cast<size_t>(kept) * pixel_bytes, 0,
                static_cast<size_t>(size.width - kept) * pixel_bytes);
    row += static_cast<size_t>(size.width) * pixel_bytes;
  }
}

}  // namespace ffkit
