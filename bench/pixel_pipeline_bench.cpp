// How many images a second one thread (or several) turns from JPEG bytes into their place in a batch, and the ceilings beside it.
//
// Images are made, unless FFKIT_BENCH_IMAGES names a folder: then all JPEGs below it are taken. Everything is in memory
// before the clock starts. Run with --benchmark_repetitions=5 --benchmark_report_aggregates_only=true for median and spread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/image_codec.h>

#include "crop.h"
#include "image_pipeline.h"
#include "libjpeg.h"
#include "resize.h"
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
    auto bytes = testing::read_file(path);
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

// Calls `step(encoded image, its number)` for all images in each iteration, so that every run does the same work; threads begin
// at different ones.
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
    benchmark::DoNotOptimize(decoder.decode_region(image, crop.rect, 224, 224).pixels.data);
  });
}

void pipeline(benchmark::State& state, const ImageTransform& transform, DType dtype,
              Layout layout) {
  const ImageOutput output{dtype, layout, dtype != DType::u8};
  ImagePipeline pixels(transform, output);
  const auto size = static_cast<size_t>(output_size(transform));
  const size_t sample_bytes = 3 * size * size * size_of(dtype);
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

// Resize of a typical crop without any decoding.
void resize_only(benchmark::State& state, DType dtype) {
  const auto picture = testing::make_picture(320, 300);
  AxisFilter filter_x;
  AxisFilter filter_y;
  Resizer resizer(224, {dtype, Layout::nchw, dtype != DType::u8});
  std::vector<float> out(size_t{3} * 224 * 224);
  for (auto _ : state) {
    filter_x.build(300, 0, 300, 224, 0, 224);
    filter_y.build(280, 0, 280, 224, 0, 224);
    resizer.run(picture.rgb.data(), 320 * 3, filter_x, filter_y, false, 0, 0, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

const RandomResizedCrop kTrain;
const RandomResizedCrop kTrainExact{.scaled_decode = false};
const ResizeCenterCrop kEval;

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
BENCHMARK_CAPTURE(resize_only, u8, DType::u8)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(resize_only, f32, DType::f32)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
