// reencode_bench: how fast a conversion with --max-resolution re-encodes pictures, beside a bare
// loop over the same pictures in memory: libjpeg-turbo's decoder, ImageResizer, libjpeg-turbo's
// encoder, on as many threads. Both in turns; median and spread of the rounds.
//
// Pictures are made, unless --images names a source as `ffconvert imagenet` or, with --kind folder,
// `ffconvert folder` takes it; records go to $TMPDIR and are removed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/machine.h>
#include <ffkit/converter/convert.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/sources/registry.h>

#include "image/jpeg/libjpeg.h"
#include "temp_dir.h"
#include "test_images.h"

namespace {

using namespace ffkit;

struct Settings {
  std::string images;
  std::string kind = "imagenet";
  int max_resolution = 400;
  int num_threads = 0;
  int64_t num_pictures = 2000;
  int rounds = 5;
};

// The training pictures of a source again and again, so that a round takes seconds.
class Repeated : public Source {
 public:
  Repeated(std::unique_ptr<Source> source, int64_t num_pictures) : source_(std::move(source)) {
    SourceSplit split = source_->splits().front();
    num_different_ = split.num_samples;
    split.num_samples = num_pictures;
    split.num_bytes = 0;
    splits_ = {split};
  }
  int64_t num_different() const { return num_different_; }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return source_->schema(); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  const std::vector<std::string>& class_names() const override { return source_->class_names(); }
  const std::vector<ClassId>& class_ids() const override { return source_->class_ids(); }
  std::map<std::string, std::string> facts(size_t) const override { return {{"kind", "bench"}}; }
  const std::vector<std::string>& notes() const override { return source_->notes(); }
  std::vector<std::filesystem::path> roots() const override { return source_->roots(); }
  int64_t sample_bytes(size_t split, int64_t index) const override {
    return source_->sample_bytes(split, index % num_different_);
  }
  std::string describe(size_t split, int64_t index) const override {
    return source_->describe(split, index % num_different_);
  }
  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    source_->read(split, index % num_different_, record, buffers);
  }

 private:
  std::unique_ptr<Source> source_;
  int64_t num_different_ = 0;
  std::vector<SourceSplit> splits_;
};

std::unique_ptr<Repeated> open_source(const Settings& settings, int max_resolution) {
  const bool is_demo = settings.images.empty();
  KindConversion conversion(source_kind(is_demo ? "demo" : settings.kind));
  const auto give = [&](const char* name, int64_t value) {
    conversion.table().find(name)->give(value);
  };
  give("max-resolution", max_resolution);
  if (is_demo) {
    give("images", 32);
    give("size", 500);
  }
  return std::make_unique<Repeated>(conversion.open(settings.images, {}, false),
                                    settings.num_pictures);
}

// The files as they are.
std::vector<std::vector<std::byte>> read_all(const Repeated& source) {
  const Schema schema = source.schema();
  RecordBuilder builder(schema);
  SampleBuffers buffers;
  std::vector<std::byte> record;
  std::vector<std::vector<std::byte>> images;
  for (int64_t i = 0; i < source.num_different(); ++i) {
    source.read(0, i, builder, buffers);
    builder.encode(record);
    buffers.clear();
    const auto image = RecordView(schema, record).bytes(0);
    images.emplace_back(image.begin(), image.end());
  }
  return images;
}

// libjpeg-turbo alone, its structures kept from one picture to the next. Ends the program on a
// broken picture.
class BareCodec {
 public:
  BareCodec() {
    in_.err = jpeg_std_error(&errors_);
    out_.err = &errors_;
    jpeg_create_decompress(&in_);
    jpeg_create_compress(&out_);
  }
  ~BareCodec() {
    jpeg_destroy_decompress(&in_);
    jpeg_destroy_compress(&out_);
    std::free(buffer_);
  }
  BareCodec(const BareCodec&) = delete;
  BareCodec& operator=(const BareCodec&) = delete;

  size_t reencode(std::span<const std::byte> image, int max_resolution) {
    jpeg_mem_src(&in_, reinterpret_cast<const unsigned char*>(image.data()), image.size());
    jpeg_read_header(&in_, TRUE);
    const PixelSize size =
        stored_size({.max_resolution = max_resolution},
                    {static_cast<int>(in_.image_width), static_cast<int>(in_.image_height)});
    if (size.width == static_cast<int>(in_.image_width) || in_.num_components == 4) {
      jpeg_abort_decompress(&in_);
      return image.size();
    }
    in_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&in_);
    const size_t stride = size_t{3} * in_.output_width;
    pixels_.resize(std::max(pixels_.size(), stride * in_.output_height + 64));
    while (in_.output_scanline < in_.output_height) {
      JSAMPROW row = &pixels_[stride * in_.output_scanline];
      jpeg_read_scanlines(&in_, &row, 1);
    }
    const RgbView whole{pixels_.data(), static_cast<int>(in_.output_width),
                        static_cast<int>(in_.output_height), static_cast<ptrdiff_t>(stride)};
    jpeg_abort_decompress(&in_);
    return encode(resizer_.resize(whole, size.width, size.height));
  }

 private:
  size_t encode(const RgbView& pixels) {
    unsigned long num_bytes = capacity_;
    unsigned char* buffer = buffer_;
    jpeg_mem_dest(&out_, &buffer, &num_bytes);
    out_.image_width = static_cast<JDIMENSION>(pixels.width);
    out_.image_height = static_cast<JDIMENSION>(pixels.height);
    out_.input_components = 3;
    out_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&out_);
    jpeg_set_quality(&out_, 90, TRUE);
    jpeg_start_compress(&out_, TRUE);
    while (out_.next_scanline < out_.image_height) {
      auto* row = const_cast<JSAMPROW>(pixels.data + out_.next_scanline * pixels.stride);
      jpeg_write_scanlines(&out_, &row, 1);
    }
    jpeg_finish_compress(&out_);
    if (buffer != buffer_) {  // it was too small
      std::free(buffer_);
      buffer_ = buffer;
      capacity_ = num_bytes;
    }
    return num_bytes;
  }

  jpeg_error_mgr errors_;
  jpeg_decompress_struct in_ = {};
  jpeg_compress_struct out_ = {};
  std::vector<uint8_t> pixels_;
  ImageResizer resizer_;
  unsigned char* buffer_ = nullptr;
  unsigned long capacity_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Pictures a second.
double run_bare(const Settings& settings, const std::vector<std::vector<std::byte>>& images) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < settings.num_threads; ++t) {
    threads.emplace_back([&] {
      BareCodec codec;
      for (int64_t i = next++; i < settings.num_pictures; i = next++) {
        codec.reencode(images[static_cast<size_t>(i) % images.size()], settings.max_resolution);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(settings.num_pictures) / seconds_since(start);
}

double run_converter(const Settings& settings) {
  const testing::TempDir folder;  // in $TMPDIR
  const auto source = open_source(settings, settings.max_resolution);
  const ConvertSummary summary = convert(
      *source, folder / "dst", {.num_threads = settings.num_threads, .order = Order::sequential});
  return static_cast<double>(summary.num_records()) / summary.seconds;
}

void print(const char* name, std::vector<double> rates) {
  std::ranges::sort(rates);
  fmt::print("{:<46} {:7.0f} images/s (median; {:.0f} .. {:.0f})\n", name, rates[rates.size() / 2],
             rates.front(), rates.back());
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(Settings settings) {
  if (settings.num_threads == 0) {
    settings.num_threads = usable_cores();
  }
  const auto images = read_all(*open_source(settings, 0));
  size_t num_bytes = 0;
  for (const auto& image : images) num_bytes += image.size();
  fmt::print("{} different pictures of {:.1f} kB, {} a round, {} threads, longer side at most {}\n",
             images.size(),
             static_cast<double>(num_bytes) / 1e3 / static_cast<double>(images.size()),
             settings.num_pictures, settings.num_threads, settings.max_resolution);
  std::vector<double> bare;
  std::vector<double> ours;
  std::vector<double> ratios;
  for (int round = 0; round < settings.rounds; ++round) {
    bare.push_back(run_bare(settings, images));
    ours.push_back(run_converter(settings));
    ratios.push_back(ours.back() / bare.back());
  }
  print("bare loop of libjpeg-turbo and ImageResizer", bare);
  print("conversion, records written and synced", ours);
  fmt::print("conversion / bare loop: {:.3f} (median of the rounds)\n", median(ratios));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Re-encoding at --max-resolution beside a bare loop over the same pictures.");
  app.add_option("--images", settings.images, "Source of real pictures; made ones without it");
  app.add_option("--kind", settings.kind, "Kind of that source: imagenet or folder");
  app.add_option("--max-resolution", settings.max_resolution, "Limit of the longer side");
  app.add_option("--num-threads", settings.num_threads, "0: one a processor");
  app.add_option("--pictures", settings.num_pictures, "Of each round")->check(CLI::PositiveNumber);
  app.add_option("--rounds", settings.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "reencode_bench: error: {}\n", error.what());
    return 1;
  }
}
