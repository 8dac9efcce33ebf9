// How many images a second one thread (or several) turns from JPEG bytes into their place in a
// batch, and the ceilings beside it.
//
// Images are made, unless FFKIT_BENCH_IMAGES names a folder: then all JPEGs below it are taken.
// Everything is in memory before the clock starts. Run with --benchmark_repetitions=5
// --benchmark_report_aggregates_only=true for median and spread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/image/image_codec.h>

#include "image/jpeg/libjpeg.h"
#include "image/pixels/pixel_kernels.h"
#include "image/pixels/pixel_ops.h"
#include "image/transform/picture_scaler.h"
#include "image/views/picture_views.h"
#include "loader/batch/batch_mixer.h"
#include "test_images.h"

namespace {

using namespace ffkit;

using Images = std::vector<std::vector<std::byte>>;

Images load_images() {
  Images images;
  const char* folder = std::getenv("FFKIT_BENCH_IMAGES");
  if (folder == nullptr || *folder == '\0') {
    for (uint32_t i = 0; i < 16; ++i) {
      images.push_back(encode_jpeg(testing::make_picture(500, 375, i).view(), 80));
    }
    return images;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    auto bytes = testing::read_bytes(path);
    if (detect_image_encoding(bytes) == ImageEncoding::jpeg) images.push_back(std::move(bytes));
  }
  if (images.empty()) {
    std::fprintf(stderr, "pixel_pipeline_bench: error: no JPEG below %s\n", folder);
    std::exit(1);
  }
  return images;
}

const Images& images() {
  static const Images loaded = load_images();
  return loaded;
}

// Calls `step(encoded image, its number)` for all images in each iteration, so that every run does
// the same work; threads begin at different ones.
template <typename Step>
void run(benchmark::State& state, const Step& step) {
  const Images& all = images();
  const size_t first =
      static_cast<size_t>(state.thread_index()) * all.size() / static_cast<size_t>(state.threads());
  for (auto _ : state) {
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t image = (first + i) % all.size();
      step(all[image], static_cast<int64_t>(image));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(all.size()));
}

// For comparison: all pixels of every image by libjpeg-turbo alone, its decompressor kept.
void libjpeg_decode(benchmark::State& state) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);  // ends the program on a broken image
  jpeg_create_decompress(&info);
  std::vector<uint8_t> pixels;
  run(state, [&](const std::vector<std::byte>& image, int64_t) {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.data()), image.size());
    jpeg_read_header(&info, TRUE);
    jpeg_start_decompress(&info);
    const size_t stride = size_t{info.output_width} * size_t(info.output_components);
    pixels.resize(std::max(pixels.size(), stride * info.output_height));
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = &pixels[stride * info.output_scanline];
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_abort_decompress(&info);
  });
  jpeg_destroy_decompress(&info);
}

// Ceiling: all pixels of every image, nothing else.
void full_decode(benchmark::State& state) {
  ImageDecoder decoder;
  run(state, [&](const std::vector<std::byte>& image, int64_t) {
    benchmark::DoNotOptimize(decoder.decode(image).data);
  });
}

// Ceiling: only what training crops need, no resize.
void region_decode(benchmark::State& state) {
  ImageDecoder decoder;
  run(state, [&](const std::vector<std::byte>& image, int64_t number) {
    const ImageInfo info = decoder.read_info(image);
    CounterRandom random({1, 0, number});
    const DrawnCrop crop = draw_crop(RandomResizedCrop{}, info.width, info.height, random);
    benchmark::DoNotOptimize(decoder.read_region(crop.rect, 224, 224).pixels.data);
  });
}

void run_pipeline(benchmark::State& state, const ImageOptions& options) {
  ImagePipeline pixels(options);
  const ImageSize size = image_size(options.transform);
  const size_t sample_bytes =
      static_cast<size_t>(3 * size.height * size.width) * size_of(options.output.dtype);
  // As in a loader, results go to ever other memory: a batch of 64.
  std::vector<std::byte> batch(64 * sample_bytes);
  PipelineTimes times;
  run(state, [&](const std::vector<std::byte>& image, int64_t number) {
    void* slot = &batch[static_cast<size_t>(number % 64) * sample_bytes];
    pixels.run(image, {1, 0, number}, slot, times);
  });
  const double total = static_cast<double>(times.decode_ns + times.transform_ns);
  state.counters["decode_share"] = benchmark::Counter(static_cast<double>(times.decode_ns) / total,
                                                      benchmark::Counter::kAvgThreads);
}

void pipeline(benchmark::State& state, const ImageTransform& transform, DType dtype,
              Layout layout) {
  run_pipeline(state, {.transform = transform, .output = {dtype, layout, dtype != DType::u8}});
}

// train_f32_nchw with what comes on top of it.
void augmented(benchmark::State& state, const std::vector<Augmentation>& augmentations,
               const std::optional<RandomErasing>& erasing) {
  run_pipeline(state, {.augmentations = augmentations, .erasing = erasing});
}

// One operation on the pixels of a sample. It changes them, so they are fetched anew each time:
// "nothing" is the time of that.
template <typename Operation>
void operation(benchmark::State& state, const Operation& apply) {
  const auto picture = testing::make_picture(224, 224);
  std::vector<uint8_t> pixels = picture.rgb;
  std::vector<uint8_t> scratch(pixels.size() + kScratchSlack);
  for (auto _ : state) {
    std::copy(picture.rgb.begin(), picture.rgb.end(), pixels.begin());
    apply(RgbImage{pixels.data(), 224, 224}, scratch.data());
    benchmark::DoNotOptimize(pixels.data());
  }
  state.SetItemsProcessed(state.iterations());
}

// As operation(), of a GaussianBlurrer; kernel_size 0 is Pillow's.
void blur(benchmark::State& state, int kernel_size, double sigma) {
  GaussianBlurrer blurrer;
  operation(state, [&](const RgbImage& image, uint8_t*) {
    if (kernel_size == 0) return blurrer.blur_as_pillow(image, sigma);
    blurrer.blur_as_torchvision(image, kernel_size, sigma);
  });
}

// From RGB pixels to a normalised sample: what the augmented way writes in one pass more than the
// fused one.
void write_only(benchmark::State& state, DType dtype, Layout layout) {
  auto picture = testing::make_picture(224, 225);  // a row of slack
  const PixelWriter writer(224, {dtype, layout, dtype != DType::u8});
  std::vector<float> out(size_t{3} * 224 * 224);
  for (auto _ : state) {
    writer.run(picture.rgb.data(), 224 * 3, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

// MixUp and CutMix of a batch of 64; items are samples.
void mix(benchmark::State& state, const MixDraw& draw, DType dtype) {
  constexpr size_t kBatch = 64;
  const size_t sample_bytes = size_t{3} * 224 * 224 * size_of(dtype);
  std::vector<uint8_t> batch(kBatch * sample_bytes);
  std::vector<uint8_t> scratch(sample_bytes);
  for (auto _ : state) {
    mix_images(draw, batch.data(), kBatch, 224, {.dtype = dtype}, scratch.data());
    benchmark::DoNotOptimize(batch.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}

// Resize of a typical crop without any decoding.
void resize_only(benchmark::State& state, DType dtype, Interpolation interpolation) {
  const auto picture = testing::make_picture(320, 300);
  AxisFilter filter_x;
  AxisFilter filter_y;
  Resizer resizer(224, {dtype, Layout::nchw, dtype != DType::u8});
  std::vector<float> out(size_t{3} * 224 * 224);
  for (auto _ : state) {
    filter_x.build(300, 0, 300, 224, 0, 224, interpolation);
    filter_y.build(280, 0, 280, 224, 0, 224, interpolation);
    resizer.run(picture.rgb.data(), 320 * 3, filter_x, filter_y, false, 0, 0, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

const RandomResizedCrop kTrain{.flip_probability = 0.5};
const RandomResizedCrop kTrainExact{.flip_probability = 0.5, .scaled_decode = false};
const RandomResizedCrop kTrainBicubic{.flip_probability = 0.5,
                                      .interpolation = Interpolation::bicubic};
const ResizeCenterCrop kEval;
const RandomCrop kCrop{.size = 224, .pad_if_needed = true, .flip_probability = 0.5};
const ColorJitter kJitter{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4};
const ColorJitter kJitterAndHue{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1};

// SimCLR's and MoCo v2's, all of it always.
const Augmentation kSimclr =
    Apply{.probability = 1, .augmentations = {kJitterAndHue, Grayscale{}, GaussianBlur{}}};

#define FFKIT_THREADS Threads(1)->Threads(2)->UseRealTime()->Unit(benchmark::kMillisecond)
BENCHMARK(libjpeg_decode)->FFKIT_THREADS;
BENCHMARK(full_decode)->FFKIT_THREADS;
BENCHMARK(region_decode)->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, train_f32_nchw, kTrain, DType::f32, Layout::nchw)->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, train_f16_nhwc, kTrain, DType::f16, Layout::nhwc)->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, train_u8_nchw, kTrain, DType::u8, Layout::nchw)->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, train_exact_f32_nchw, kTrainExact, DType::f32, Layout::nchw)
    ->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, eval_f32_nchw, kEval, DType::f32, Layout::nchw)->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, train_bicubic_f32_nchw, kTrainBicubic, DType::f32, Layout::nchw)
    ->FFKIT_THREADS;
BENCHMARK_CAPTURE(pipeline, random_crop_f32_nchw, kCrop, DType::f32, Layout::nchw)->FFKIT_THREADS;
#define FFKIT_AUGMENTED(name, ...) \
  BENCHMARK_CAPTURE(augmented, name, __VA_ARGS__)->UseRealTime()->Unit(benchmark::kMillisecond)
FFKIT_AUGMENTED(nothing, {}, {});
FFKIT_AUGMENTED(color_jitter, {kJitter}, {});
FFKIT_AUGMENTED(color_jitter_and_hue, {kJitterAndHue}, {});
FFKIT_AUGMENTED(rand_augment, {RandAugment{}}, {});
FFKIT_AUGMENTED(trivial_augment_wide, {TrivialAugmentWide{}}, {});
FFKIT_AUGMENTED(gaussian_blur, {GaussianBlur{}}, {});
FFKIT_AUGMENTED(simclr, {kSimclr}, {});
FFKIT_AUGMENTED(erasing, {}, RandomErasing{.probability = 1});
FFKIT_AUGMENTED(erasing_by_noise, {}, (RandomErasing{.probability = 1, .noise = true}));

#define FFKIT_MICROSECONDS Unit(benchmark::kMicrosecond)
BENCHMARK_CAPTURE(resize_only, u8, DType::u8, Interpolation::bilinear)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(resize_only, f32, DType::f32, Interpolation::bilinear)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(resize_only, bicubic_f32, DType::f32, Interpolation::bicubic)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(write_only, f32_nchw, DType::f32, Layout::nchw)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(write_only, f16_nhwc, DType::f16, Layout::nhwc)->FFKIT_MICROSECONDS;

#define FFKIT_OPERATION(name, call)                                                         \
  BENCHMARK_CAPTURE(operation, name,                                                        \
                    [](const RgbImage& image, [[maybe_unused]] uint8_t* scratch) { call; }) \
      ->FFKIT_MICROSECONDS
FFKIT_OPERATION(nothing, static_cast<void>(image));
FFKIT_OPERATION(brightness, adjust_brightness(image, 1.3));
FFKIT_OPERATION(contrast, adjust_contrast(image, 1.3));
FFKIT_OPERATION(saturation, adjust_saturation(image, 1.3));
FFKIT_OPERATION(hue, adjust_hue(image, 0.1));
FFKIT_OPERATION(sharpness, adjust_sharpness(image, 1.3, scratch));
FFKIT_OPERATION(posterize, posterize(image, 4));
FFKIT_OPERATION(solarize, solarize(image, 128));
FFKIT_OPERATION(autocontrast, autocontrast(image));
FFKIT_OPERATION(equalize, equalize(image));
FFKIT_OPERATION(invert, invert(image));
FFKIT_OPERATION(grayscale, grayscale(image));
FFKIT_OPERATION(translate, translate(image, 20, 0, {}, scratch));
FFKIT_OPERATION(shear_x, shear(image, 10, 0, {}, scratch));
FFKIT_OPERATION(shear_y, shear(image, 0, 10, {}, scratch));
FFKIT_OPERATION(rotate, rotate(image, 20, {}, scratch));

// Of the largest sigma of SimCLR's pictures, and others.
BENCHMARK_CAPTURE(blur, pillow_2, 0, 2)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(blur, pillow_10, 0, 10)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(blur, pillow_100, 0, 100)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(blur, kernel_9, 9, 2)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(blur, kernel_23, 23, 2)->FFKIT_MICROSECONDS;

const MixDraw kMixUp{.lambda = 0.3};
const MixDraw kCutMix{.lambda = 0.75, .is_cutmix = true, .box = {50, 50, 112, 112}};
BENCHMARK_CAPTURE(mix, mixup_f32, kMixUp, DType::f32)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(mix, mixup_f16, kMixUp, DType::f16)->FFKIT_MICROSECONDS;
BENCHMARK_CAPTURE(mix, cutmix_f32, kCutMix, DType::f32)->FFKIT_MICROSECONDS;

}  // namespace

BENCHMARK_MAIN();
