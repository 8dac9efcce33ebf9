// The CRC-32 of an epoch's batches as C++ gives them, for tests that compare with Python:
// python_epoch_hash DATA SPLIT CASE. Cases are those of tests/python/epoch_cases.py.
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>

namespace {

using ffkit::Dataset;
using ffkit::LoaderOptions;

LoaderOptions basic() {
  LoaderOptions options{.batch_size = 7};
  options.sampler.seed = 5;
  options.image.transform = ffkit::RandomResizedCrop{.size = 32, .flip_probability = 0.5};
  return options;
}

LoaderOptions u8_nhwc() {
  LoaderOptions options = basic();
  options.image.transform = ffkit::ResizeCenterCrop{.resize = 40, .size = {32, 24}};
  options.image.output = {
      .dtype = ffkit::DType::u8, .layout = ffkit::Layout::nhwc, .normalize = false};
  options.sampler.order = ffkit::Order::sequential;
  options.sampler.tail = ffkit::Tail::exact;
  return options;
}

LoaderOptions augmented() {
  LoaderOptions options = basic();
  options.image.transform = ffkit::RandomCrop{
      .size = 28, .padding = {1, 2, 3, 4}, .fill = {9, 8, 7}, .flip_probability = 0.5};
  options.image.augmentations = {
      ffkit::ColorJitter{.brightness = 0.4, .contrast = {0.5, 1.5}, .hue = {-0.1, 0.2}},
      ffkit::RandAugment{.num_ops = 1, .magnitude = 5, .fill = {1, 2, 3}}};
  options.image.erasing = ffkit::RandomErasing{.probability = 0.7, .value = 0.5F};
  options.image.output = {
      .dtype = ffkit::DType::f16, .mean = {0.5F, 0.4F, 0.3F}, .std = {0.2F, 0.2F, 0.2F}};
  options.mixing = {.mixup_alpha = 0.2, .cutmix_alpha = 1.0};
  return options;
}

LoaderOptions operations() {
  using namespace ffkit;
  LoaderOptions options = basic();
  options.image.augmentations = {
      Apply{.probability = 0.8, .augmentations = {ColorJitter{.brightness = 0.4}}},
      Apply{.probability = 0.2, .augmentations = {Grayscale{}}},
      Apply{.probability = 0.5,
            .augmentations = {GaussianBlur{}, Solarize{.threshold = 100}, Posterize{.bits = 5}}},
      OneOf{
          .augmentations = {Equalize{}, AutoContrast{}, Invert{},
                            OneOf{.augmentations = {AdjustSharpness{.factor = 1.5},
                                                    GaussianBlur{.sigma = 1.5, .kernel_size = 9}}}},
          .weights = {1, 2, 0.5, 3}}};
  options.image.output.dtype = DType::u8;
  options.image.output.normalize = false;
  return options;
}

LoaderOptions weighted_bf16(const Dataset& dataset) {
  LoaderOptions options = basic();
  options.image.transform =
      ffkit::Resize{.size = {20, 24}, .interpolation = ffkit::Interpolation::bicubic};
  options.image.augmentations = {ffkit::TrivialAugmentWide{}};
  options.image.output.dtype = ffkit::DType::bf16;
  options.sampler.order = ffkit::Order::weighted;
  options.sampler.epoch_size = 50;
  options.sampler.rank = 1;
  options.sampler.world_size = 2;
  options.sampler.tail = ffkit::Tail::pad;
  options.sampler.weights = std::make_shared<std::vector<double>>(
      ffkit::class_balanced_weights(dataset.int_column("label")));
  return options;
}

LoaderOptions windowed_fields(const Dataset& dataset) {
  LoaderOptions options = basic();
  options.image_field = "";
  options.label_field = "";
  options.sampler.order = ffkit::Order::windowed;
  options.sampler.windows.window_block = 4;
  options.sampler.windows.window_blocks = 3;
  const ffkit::Schema& schema = dataset.schema();
  ffkit::ImageOptions cropped{.transform = ffkit::ResizeCrop{.size = {16, 24},
                                                             .factor_min = 0.4,
                                                             .factor_max = 0.6,
                                                             .bottom_max = 0.2,
                                                             .centered = false,
                                                             .flip_probability = 0.5}};
  options.fields = {{"crop", ffkit::decode_image(schema, "image", cropped)},
                    {"twice", ffkit::decode_images(schema, {"image", "image"},
                                                   {.transform = ffkit::ScalePad{.size = 64}})},
                    {"number", ffkit::decode_integer(schema, "label")},
                    {"copy", ffkit::copy_field(schema, "label")},
                    {"id", ffkit::copy_string(schema, "id")}};
  return options;
}

const std::map<std::string, std::function<LoaderOptions(const Dataset&)>>& cases() {
  static const std::map<std::string, std::function<LoaderOptions(const Dataset&)>> all = {
      {"basic", [](const Dataset&) { return basic(); }},
      {"u8_nhwc", [](const Dataset&) { return u8_nhwc(); }},
      {"augmented", [](const Dataset&) { return augmented(); }},
      {"operations", [](const Dataset&) { return operations(); }},
      {"weighted_bf16", weighted_bf16},
      {"windowed_fields", windowed_fields}};
  return all;
}

void run(const char* path, const char* split, const char* name) {
  const Dataset dataset = Dataset::open(path, split);
  ffkit::Loader loader(dataset, cases().at(name)(dataset));
  loader.set_epoch(2);
  uLong crc = 0;
  int64_t num_bytes = 0;
  while (const std::optional<ffkit::Batch> batch = loader.next()) {
    for (size_t i = 0; i < batch->num_fields(); ++i) {
      const ffkit::BatchArray array = batch->field(i);
      crc = crc32_z(crc, static_cast<const Bytef*>(array.data), array.num_bytes());
      num_bytes += static_cast<int64_t>(array.num_bytes());
    }
  }
  std::printf("%lu %lld %s\n", crc, static_cast<long long>(num_bytes),
              loader.state().to_text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "python_epoch_hash: error: %s\n", error.what());
    return 1;
  }
}
