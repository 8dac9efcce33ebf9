#include "transform/image_pipeline.h"

#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include <ffkit/image/image_codec.h>

#include "pixels/pixel_ops.h"
#include "pixels/pixel_writer.h"
#include "pixels/wide_writer.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"
#include "transform/crop_plan.h"
#include "transform/erasing.h"
#include "transform/float_scaler.h"
#include "transform/photometric.h"
#include "transform/picture_scaler.h"
#include "transform/wide_scaler.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ImageOutput kPixels{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

int64_t nanoseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

}  // namespace

// u16 or i32
bool has_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

// Without augmentations the scaler writes finished values straight to the output; otherwise RGB to
// `pixels`, which are augmented and written. So are the numbers of u16 and i32. ScalePad has a way
// of its own, in floats, and pictures of 16 bits have one.
struct ImagePipeline::Impl {
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

  // Decodes the picture whose header was read, and writes it.
  void run(const CropPlan& plan, const SampleKey& key, void* out, Clock::time_point& decoded) {
    PictureScaler& chosen = plan.resizes() ? *scaler : *copier;
    const WantedPixels wanted = chosen.wanted(plan);
    const ImageDecoder::Region region =
        decoder.read_region(wanted.rect, wanted.min_width, wanted.min_height);
    decoded = Clock::now();
    chosen.run(region, plan, makes_pixels ? pixels.data() : out);
    if (!makes_pixels) return;
    if (!augments) return number_writer.run(pixels.data(), out);
    augmenter.run({pixels.data(), static_cast<int>(size.width), static_cast<int>(size.height)},
                  key);
    writer.run(pixels.data(), ptrdiff_t{3} * size.width, out);
  }

  // Whether values of 16 bits are kept: not as bytes, and not where bytes are changed on the way.
  bool keeps_16_bits() const { return !is_float && !augments && options.output.dtype != DType::u8; }

  // The same with the values of 16 bits.
  void run_wide(const CropPlan& plan, void* out, Clock::time_point& decoded) {
    const WideRgbView region = decoder.read_wide_region(wide_scaler.wanted(plan));
    decoded = Clock::now();
    wide_scaler.run(region, plan, out);
  }

  // The same in floats.
  void run_floats(const CropPlan& plan, const SampleKey& key, void* out,
                  Clock::time_point& decoded) {
    const RgbView whole = decoder.read_region(plan.box, 0, 0).pixels;
    decoded = Clock::now();
    std::optional<RowDistortion> distortion;
    if (!options.augmentations.empty()) {
      const Augmentation& only = options.augmentations.front();
      CounterRandom random(key, augmentation_stream(only.index(), 0));
      distortion = draw_distortion(std::get<PhotoMetricDistortion>(only), random);
    }
    float_scaler.run(whole, plan.resized_width, plan.resized_height,
                     distortion ? &*distortion : nullptr, out);
  }

  ImageOptions options;
  ImageSize size;
  bool is_float;
  bool augments;
  bool makes_pixels;
  ImageDecoder decoder;
  std::unique_ptr<PictureScaler> scaler;
  std::unique_ptr<PictureScaler> copier;
  Augmenter augmenter;
  PixelWriter writer;
  WideWriter number_writer;
  WideScaler wide_scaler;
  std::vector<uint8_t> pixels;  // [height, width, 3] and slack
  FloatScaler float_scaler;
};

ImagePipeline::ImagePipeline(const ImageOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
ImagePipeline::~ImagePipeline() = default;
ImagePipeline::ImagePipeline(ImagePipeline&&) noexcept = default;
ImagePipeline& ImagePipeline::operator=(ImagePipeline&&) noexcept = default;

void ImagePipeline::run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
                        PipelineTimes& times) {
  const auto begin = Clock::now();
  Impl& impl = *impl_;
  const ImageInfo info = impl.decoder.read_info(encoded);
  const CropPlan plan = plan_crop(impl.options.transform, info.width, info.height, key);
  Clock::time_point decoded;
  if (impl.is_float) {
    impl.run_floats(plan, key, out, decoded);
  } else if (info.has_16_bits && impl.keeps_16_bits()) {
    impl.run_wide(plan, out, decoded);
  } else {
    impl.run(plan, key, out, decoded);
  }
  if (impl.options.erasing) {
    CounterRandom random(key, kErasingStream);
    erase(*impl.options.erasing, impl.options.output, impl.size, random, out);
  }
  times.decode_ns += nanoseconds(begin, decoded);
  times.transform_ns += nanoseconds(decoded, Clock::now());
}

}  // namespace ffkit
