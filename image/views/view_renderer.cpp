#include "views/view_renderer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include "base/make_error.h"
#include "codec/pixel_buffer.h"
#include "moves/moves.h"
#include "pixels/pixel_kernels.h"
#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

// Whether a step may blend pixels that it turns or bends.
bool mixes_warped(const ImageTransform& transform) {
  const auto* compose = std::get_if<Compose>(&transform);
  const auto mixes = [](const auto& step) {
    if constexpr (requires { step.filter; }) return step.filter != WarpFilter::nearest;
    return false;
  };
  return compose != nullptr && std::ranges::any_of(compose->steps, [&](const auto& step) {
           return std::visit(mixes, step);
         });
}

void require_grey(const WideRgbView& pixels) {
  for (int y = 0; y < pixels.height; ++y) {
    const uint16_t* row = pixels.data + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, row += 3) {
      if (row[0] == row[1] && row[0] == row[2]) continue;
      throw Error(ErrorCode::unsupported,
                  "the picture has 16-bit colours, which ffkit does not convert to grey; load it "
                  "with 3 channels, or as u8");
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
        augments(!is_float && !image_options.augmentations.empty()),
        scalers(image_options.output),
        augmenter(augments ? image_options.augmentations : std::vector<Augmentation>{}),
        writer(size, image_options.output),
        number_writer(size, image_options.output),
        wide_mover(has_numbers(image_options.output)),
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
    if (!has_numbers(options.output)) augmenter.run(pixels, key);
    if (is_grey()) grayscale(pixels);
    const uint8_t* all = on_canvas<uint8_t>(pixels.data, pixels.width, pixels.height);
    if (has_numbers(options.output)) return number_writer.run(all, out);
    writer.run(all, ptrdiff_t{3} * size.width, out);
  }

  // The picture at the top left of all pixels of the view; those around it are any.
  template <typename Value>
  const Value* on_canvas(const Value* pixels, int width, int height) {
    if (width == size.width && height == size.height) return pixels;
    const auto num_values = static_cast<size_t>(3 * size.width * size.height);
    auto* const first = reinterpret_cast<Value*>(canvas.reserve(num_values * sizeof(Value)));
    for (int y = 0; y < height; ++y) {
      std::copy_n(pixels + ptrdiff_t{3} * y * width, ptrdiff_t{3} * width,
                  first + ptrdiff_t{3} * y * size.width);
    }
    return first;
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

  // Of the picture, which is the top left of the view.
  void erase_part(ImageSize picture, const SampleKey& key, void* out) {
    if (!options.erasing) return;
    CounterRandom random(key, kErasingStream);
    erase(*options.erasing, options.output, size, picture, random, out);
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
  bool augments;
  PlanScalers scalers;
  CanvasMover mover;
  Augmenter augmenter;
  PixelWriter writer;
  WideWriter number_writer;
  WideMover wide_mover;
  FloatScaler float_scaler;
  PixelBuffer canvas;
  std::vector<std::byte> colours;  // of grey output: three channels of it
};

ViewRenderer::ViewRenderer(const ImageOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ViewRenderer::~ViewRenderer() = default;
ViewRenderer::ViewRenderer(ViewRenderer&&) noexcept = default;
ViewRenderer& ViewRenderer::operator=(ViewRenderer&&) noexcept = default;

bool ViewRenderer::is_wide(const ImageInfo& info) const {
  if (!info.has_16_bits || impl_->options.output.dtype == DType::u8) return false;
  const char* what = nullptr;
  if (impl_->is_float) what = "a ScalePad";
  if (impl_->augments) what = "an augmentation";
  if (mixes_warped(impl_->options.transform)) what = "a bilinear or bicubic rotation or warp";
  if (what == nullptr) return true;
  throw error_of(ErrorCode::unsupported,
                 "the picture has 16 bits per channel, but {0} would keep only 8 bits; load the "
                 "picture as u8 (the 8 high bits), or leave out {0}",
                 what);
}

WantedPixels ViewRenderer::wanted(std::span<const Move> moves, bool is_wide) {
  const auto& plan = std::get<CropPlan>(moves.front().what);
  if (is_wide) return {impl_->wide_mover.wanted(moves)};
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
  impl_->erase_part(moves.back().size, key, to);
  if (impl_->is_grey()) impl_->write_grey(out);
}

void ViewRenderer::run_wide(const WideRgbView& pixels, std::span<const Move> moves,
                            const SampleKey& key, void* out) {
  void* to = impl_->is_grey() ? impl_->colours.data() : out;
  if (impl_->is_grey()) require_grey(pixels);
  const WideRgbView moved = impl_->wide_mover.run(pixels, moves);
  impl_->number_writer.run(impl_->on_canvas(moved.data, moved.width, moved.height), to);
  impl_->erase_part(moves.back().size, key, to);
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
