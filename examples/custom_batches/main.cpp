// An augmentation and a field decoder of one's own.
//
//   custom_batches DATA     e.g. the folder that `ffconvert demo DATA` has made
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/loader/loader.h>

namespace {

// Makes a picture grey, with a probability: torchvision's RandomGrayscale.
class RandomGrayscale final : public ffkit::PixelTransform {
 public:
  explicit RandomGrayscale(double probability) : probability_(probability) {}

  void apply(const ffkit::RgbImage& image, ffkit::CounterRandom& random) const override {
    if (random.uniform() >= probability_) return;
    for (int y = 0; y < image.height; ++y) {
      uint8_t* pixel = image.row(y);
      for (int x = 0; x < image.width; ++x, pixel += 3) {
        // ITU-R 601, in the integers of Pillow's convert("L").
        const int grey = (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
        pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(grey);
      }
    }
  }

 private:
  double probability_;
};

// Smoothed labels, [num_classes] f32: 1 - smoothing for the class, the rest spread over all.
class SmoothedLabel final : public ffkit::FieldDecoder {
 public:
  SmoothedLabel(const ffkit::Schema& schema, int64_t num_classes, float smoothing)
      : field_(schema.require("label")), num_classes_(num_classes), smoothing_(smoothing) {}

  ffkit::DType dtype() const override { return ffkit::DType::f32; }
  std::vector<int64_t> shape() const override { return {num_classes_}; }

  void decode(const ffkit::RecordView& record, const ffkit::SampleKey&, Scratch*,
              void* out) const override {
    const auto label = record.scalar<int64_t>(field_);
    if (label < 0 || label >= num_classes_) {
      throw ffkit::Error(ffkit::ErrorCode::corrupt, "the label is " + std::to_string(label) +
                                                        ", but there are " +
                                                        std::to_string(num_classes_) + " classes");
    }
    auto* values = static_cast<float*>(out);
    for (int64_t i = 0; i < num_classes_; ++i) {
      values[i] = smoothing_ / static_cast<float>(num_classes_);
    }
    values[label] += 1 - smoothing_;
  }

 private:
  size_t field_;
  int64_t num_classes_;
  float smoothing_;
};

void run(const char* path) {
  const auto dataset = ffkit::Dataset::open(path, "train");
  const auto num_classes = static_cast<int64_t>(dataset.manifest().classes.size());

  ffkit::LoaderOptions options;
  options.batch_size = 16;
  options.image.transform = ffkit::RandomResizedCrop{.size = 96, .flip_probability = 0.5};
  options.image.augmentations = {ffkit::ColorJitter{.brightness = 0.4, .contrast = 0.4},
                                 std::make_shared<RandomGrayscale>(0.2)};
  options.fields = {
      {"target", std::make_shared<SmoothedLabel>(dataset.schema(), num_classes, 0.1F)}};

  ffkit::Loader loader(dataset, options);
  int64_t num_samples = 0;
  double sum = 0;
  while (const auto batch = loader.next()) {
    const ffkit::BatchArray target = batch->field("target");  // [16, num_classes] f32
    const auto* values = static_cast<const float*>(target.data);
    for (int64_t i = 0; i < target.shape[0] * target.shape[1]; ++i) sum += values[i];
    num_samples += batch->size();
  }
  std::printf("%lld samples of %lld classes; each target adds up to %.3f\n",
              static_cast<long long>(num_samples), static_cast<long long>(num_classes),
              sum / static_cast<double>(num_samples));
  std::printf("%s\n", loader.statistics().verdict().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: custom_batches DATA\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom_batches: error: %s\n", error.what());
    return 1;
  }
}
