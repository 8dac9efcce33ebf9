// dct_bench: the dct code of JPEGs against the JPEGs: bytes, speed of writing it and of making the
// JPEG again, and decoding. Everything is in memory; one thread; processor time of the thread. JPEG
// and dct code take turns picture by picture, and the median of the rounds counts.
//
// Pictures are made, unless --images names a folder of JPEGs, in files or tars.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "image/views/picture_views.h"
#include "test_images.h"

namespace {

using namespace ffkit;

struct BenchPicture {
  std::vector<std::byte> jpeg;
  std::vector<std::byte> dct;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of the thread so far.
int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

double seconds_of(const std::function<void()>& work) {
  const double begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<BenchPicture> load(const std::string& folder, size_t max_pictures,
                               size_t& num_refused) {
  std::vector<testing::NamedJpeg> jpegs;
  if (folder.empty()) {
    for (uint32_t i = 0; i < 8; ++i) {
      jpegs.push_back({"made", encode_jpeg(testing::make_picture(500, 375, i).view(), 90)});
    }
  } else {
    jpegs = testing::jpegs_under(folder);
  }
  std::vector<BenchPicture> pictures;
  for (auto& [name, jpeg] : jpegs) {
    if (pictures.size() >= max_pictures) break;
    BenchPicture picture{std::move(jpeg), {}};
    if (encode_dct_picture(picture.jpeg, picture.dct)) {
      ++num_refused;
    } else {
      pictures.push_back(std::move(picture));
    }
  }
  return pictures;
}

// Microseconds and page faults a picture of both forms, in turns.
void compare(const std::string& name, const std::vector<BenchPicture>& pictures, int rounds,
             const std::function<void(std::span<const std::byte>, int64_t)>& work) {
  std::vector<double> jpeg;
  std::vector<double> dct;
  std::vector<double> ratio;
  int64_t faults[2] = {};  // JPEG, dct
  const auto count = static_cast<double>(pictures.size());
  for (int round = 0; round <= rounds; ++round) {
    double jpeg_seconds = 0;
    double dct_seconds = 0;
    for (size_t i = 0; i < pictures.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      const int64_t first = page_faults();
      jpeg_seconds += seconds_of([&] { work(pictures[i].jpeg, number); });
      const int64_t second = page_faults();
      dct_seconds += seconds_of([&] { work(pictures[i].dct, number); });
      if (round == 0) continue;  // warms up
      faults[0] += second - first;
      faults[1] += page_faults() - second;
    }
    if (round == 0) continue;
    jpeg.push_back(1e6 * jpeg_seconds / count);
    dct.push_back(1e6 * dct_seconds / count);
    ratio.push_back(jpeg_seconds / dct_seconds);
  }
  fmt::print(
      "{:<44} JPEG {:>6.0f} us, {:>4.0f} faults  dct {:>6.0f} us, {:>4.0f} faults  {:.2f} times as "
      "fast\n",
      name, median(jpeg), static_cast<double>(faults[0]) / count / rounds, median(dct),
      static_cast<double>(faults[1]) / count / rounds, median(ratio));
}

void compare_pipelines(const std::vector<BenchPicture>& pictures, int rounds) {
  const auto compare_one = [&](const std::string& name, const ImageTransform& transform) {
    ImagePipeline pipeline({.transform = transform});
    std::vector<std::byte> out(size_t{3} * 224 * 224 * 4);
    PipelineTimes times;
    compare(name, pictures, rounds, [&](std::span<const std::byte> image, int64_t number) {
      pipeline.run(image, {1, 2, number}, out.data(), times);
    });
  };
  compare_one("RandomResizedCrop 224, flip, normalise, f32",
              RandomResizedCrop{.size = 224, .flip_probability = 0.5});
  compare_one("resize 256, centre crop 224, f32",
              ResizeCenterCrop{.resize = 256, .size = {224, 224}});
}

void compare_decoding(const std::vector<BenchPicture>& pictures, int rounds) {
  ImageDecoder decoder;
  compare("all pixels", pictures, rounds,
          [&](std::span<const std::byte> image, int64_t) { decoder.decode(image); });
  compare("an eighth of the size", pictures, rounds,
          [&](std::span<const std::byte> image, int64_t) {
            const ImageInfo info = decoder.read_info(image);
            decoder.read_region({0, 0, info.width, info.height}, std::max(1, info.width / 8), 0);
          });
}

void measure_transcoding(const std::vector<BenchPicture>& pictures, int rounds) {
  DctTranscoder transcoder;
  std::vector<std::byte> out;
  double num_bytes = 0;
  for (const BenchPicture& picture : pictures)
    num_bytes += static_cast<double>(picture.jpeg.size());
  std::vector<double> encode;
  std::vector<double> rebuild;
  for (int round = 0; round < rounds; ++round) {
    double encode_seconds = 0;
    double rebuild_seconds = 0;
    for (const BenchPicture& picture : pictures) {
      encode_seconds += seconds_of([&] { (void)transcoder.encode(picture.jpeg, out); });
      rebuild_seconds += seconds_of([&] { transcoder.decode_to_jpeg(picture.dct, out); });
    }
    encode.push_back(num_bytes / 1e6 / encode_seconds);
    rebuild.push_back(num_bytes / 1e6 / rebuild_seconds);
  }
  fmt::print("JPEG to dct, with the proof: {:.0f} MB/s of JPEG; dct to JPEG: {:.0f} MB/s of JPEG\n",
             median(encode), median(rebuild));
}

int run(int argc, char** argv) {
  std::string images;
  size_t max_pictures = 100'000;
  int rounds = 5;
  CLI::App app("The dct code of JPEGs against the JPEGs", "dct_bench");
  app.add_option("--images", images, "a folder of JPEGs, in files or tars");
  app.add_option("--pictures", max_pictures, "at most so many");
  app.add_option("--rounds", rounds, "of which the median counts")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  size_t num_refused = 0;
  const std::vector<BenchPicture> pictures = load(images, max_pictures, num_refused);
  if (pictures.empty()) {
    fmt::print(stderr, "dct_bench: error: no JPEG below {} that the dct code takes\n", images);
    return 1;
  }
  size_t jpeg_bytes = 0;
  size_t dct_bytes = 0;
  for (const BenchPicture& picture : pictures) {
    jpeg_bytes += picture.jpeg.size();
    dct_bytes += picture.dct.size();
  }
  fmt::print(
      "{} pictures of {} bytes on average, {} more are kept as JPEGs; dct / JPEG {:.3f} of the "
      "bytes\n",
      pictures.size(), jpeg_bytes / pictures.size(), num_refused,
      static_cast<double>(dct_bytes) / static_cast<double>(jpeg_bytes));
  measure_transcoding(pictures, rounds);
  compare_pipelines(pictures, rounds);
  compare_decoding(pictures, rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "dct_bench: error: {}\n", error.what());
    return 1;
  }
}
