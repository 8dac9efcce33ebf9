// OpenCV in a loader: pictures resized as cv::resize does, turned and recoloured by cv::warpAffine
// and HSV, and the batch seen as cv::Mat.
//
//   opencv_pixels DATA     e.g. the folder that `ffconvert demo DATA` has made
#include <cstdio>
#include <exception>
#include <memory>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/opencv.h>

namespace {

// Turns a picture by up to `degrees` around its middle and changes its saturation by up to a fifth.
class RandomTurn final : public ffkit::PixelTransform {
 public:
  explicit RandomTurn(double degrees) : degrees_(degrees) {}

  void apply(const ffkit::RgbImage& image, ffkit::CounterRandom& random) const override {
    cv::Mat pixels = ffkit::as_mat(image);
    const cv::Point2f middle(static_cast<float>(pixels.cols) / 2,
                             static_cast<float>(pixels.rows) / 2);
    const cv::Mat turn =
        cv::getRotationMatrix2D(middle, random.uniform(-degrees_, degrees_), /*scale=*/1);
    cv::Mat turned;
    cv::warpAffine(pixels, turned, turn, pixels.size(), cv::INTER_LINEAR);
    cv::Mat hsv;
    cv::cvtColor(turned, hsv, cv::COLOR_RGB2HSV);
    cv::multiply(hsv, cv::Scalar(1, random.uniform(0.8, 1.2), 1), hsv);
    cv::cvtColor(hsv, pixels, cv::COLOR_HSV2RGB);  // into the memory that the loader reads
  }

 private:
  double degrees_;
};

int run(const char* folder) {
  ffkit::LoaderOptions options;
  options.batch_size = 16;
  options.image.transform =
      ffkit::RandomResizedCrop{.size = 64, .interpolation = ffkit::Interpolation::opencv_bilinear};
  options.image.augmentations = {std::make_shared<RandomTurn>(20)};
  options.image.output = {
      .dtype = ffkit::DType::u8, .layout = ffkit::Layout::nhwc, .normalize = false};
  ffkit::Loader loader(ffkit::Dataset::open(folder, "train"), options);
  int64_t num_pictures = 0;
  while (std::optional<ffkit::Batch> batch = loader.next()) {
    for (int64_t i = 0; i < batch->size(); ++i) {
      const cv::Mat picture = ffkit::picture_mat(*batch, i);
      if (picture.rows == 64 && picture.cols == 64) ++num_pictures;
    }
  }
  std::printf("%lld pictures of 64 x 64 pixels as cv::Mat\n", static_cast<long long>(num_pictures));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: opencv_pixels DATA\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opencv_pixels: error: %s\n", error.what());
    return 1;
  }
}
