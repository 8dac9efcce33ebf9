// Loading nuScenes keyframes: six cameras resized to 704 x 256 as normalised f32, and a cloud of
// ten sweeps. Prints samples/s and the processor's seconds a sample as JSON. With --bevformer what
// BEVFormer trains with: the six cameras distorted, halved and padded, no cloud. With --dct the
// pictures are in the dct code.
//
//   nuscenes_bench --folder FOLDER [--root ROOT]   ROOT: a nuScenes data root, of which one
//                                                  keyframe's images and cloud are taken
//
// The data set is made in FOLDER (set, set-dct) when it is not there: keyframes of one scene, nine
// sweeps between them, every record with those images and that cloud (without ROOT: made-up ones).
// FOLDER/files holds the same as files with an index, which opencv_loader.py reads.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "drop_from_cache.h"
#include "nuscenes/make_nuscenes.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using namespace nuscenes;

constexpr int kSweeps = 10;

struct Options {
  fs::path folder;
  fs::path root;
  int keyframes = 24;
  double seconds = 5;
  int threads = 2;
  int batch = 2;
  int prefetch = 3;
  bool exact = false;
  bool cold = false;
  bool clouds_only = false;
  bool cameras_only = false;
  bool bevformer = false;
  bool dct = false;

  fs::path set() const { return folder / (dct ? "set-dct" : "set"); }
};

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw Error(ErrorCode::not_found, "cannot be read", {.path = path.string()});
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

// The largest file: among those of the small test root the real one.
fs::path largest_file(const fs::path& folder) {
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  return largest;
}

std::vector<float> as_floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

void make_set(const Options& options) {
  testing::NuscenesSpec spec{.num_scenes = 1,
                             .keyframes_per_scene = options.keyframes,
                             .sweeps_between = kSweeps - 1,
                             .max_sweeps = kSweeps,
                             .width = 1600,
                             .height = 900,
                             .num_points = 34688};
  if (options.root.empty()) {
    for (size_t i = 0; i < kCameras.size(); ++i) {
      spec.images.push_back(encode_jpeg(testing::make_picture(1600, 900, uint32_t(i)).view()));
    }
    std::mt19937 random(1);
    for (int i = 0; i < spec.num_points * 5; ++i) {
      spec.cloud.push_back(static_cast<float>(random() % 80000) / 1000 - 40);
    }
  } else {
    for (const auto camera : kCameras) {
      spec.images.push_back(read_file(largest_file(options.root / "samples" / camera)));
    }
    spec.cloud = as_floats(read_file(largest_file(options.root / "samples" / kLidar)));
  }
  if (options.dct) {
    for (std::vector<std::byte>& image : spec.images) {
      const std::vector<std::byte> jpeg = std::move(image);
      if (const auto refusal = encode_dct_picture(jpeg, image)) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("a picture of a camera is {}", to_string(*refusal)),
                    {.path = options.root.string()});
      }
    }
  }
  testing::make_nuscenes(options.set(), spec);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

nlohmann::json matrix(const Transform& t) {
  const Matrix3& r = t.rotation;
  const Vector3& p = t.translation;
  return {{r[0], r[1], r[2], p[0]}, {r[3], r[4], r[5], p[1]}, {r[6], r[7], r[8], p[2]}};
}

// One lidar frame as a file, and how it gets into the global frame.
nlohmann::json export_cloud(const RecordView& record, const Schema& schema, const std::string& of,
                            const fs::path& file) {
  const auto field = [&](const char* name) {
    return record.field(schema.require(of.empty() ? name : channel_field(of, name)));
  };
  const auto pose = [&](const char* name) {
    std::array<double, 7> numbers{};
    std::memcpy(numbers.data(), field(name).tensor().data.data(), sizeof(numbers));
    return make_transform(make_pose(numbers));
  };
  write_file(file, field(channel::kPoints).tensor().data);
  return {{"file", file.string()},
          {"to_global", matrix(pose(channel::kEgoToGlobal) * pose(channel::kSensorToEgo))},
          {"timestamp", field(channel::kTimestamp).scalar<int64_t>()}};
}

void export_files(const Split& split, const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<std::byte> bytes;
  nlohmann::json sweeps = nlohmann::json::array();
  for (int64_t i = 0; i < split.sweeps->num_records(); ++i) {
    split.sweeps->read(i, bytes);
    sweeps.push_back(export_cloud(RecordView(split.sweeps->schema(), bytes), split.sweeps->schema(),
                                  "", folder / fmt::format("sweep-{}.bin", i)));
  }
  const Schema& schema = split.keyframes.schema();
  nlohmann::json keyframes = nlohmann::json::array();
  for (int64_t i = 0; i < split.keyframes.num_records(); ++i) {
    split.keyframes.read(i, bytes);
    const RecordView record(schema, bytes);
    const std::string lidar(kLidar);
    nlohmann::json keyframe{
        {"lidar", export_cloud(record, schema, lidar, folder / fmt::format("lidar-{}.bin", i))}};
    for (const auto camera : kCameras) {
      const fs::path file = folder / fmt::format("{}-{}.jpg", camera, i);
      write_file(file, record.bytes(schema.require(channel_field(camera, channel::kImage))));
      keyframe["images"].push_back(file.string());
    }
    const TensorView before =
        record.tensor(schema.require(channel_field(kLidar, channel::kSweeps)));
    std::vector<int64_t> numbers(before.data.size() / sizeof(int64_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), before.data.data(), before.data.size());
    for (size_t k = 0; k < numbers.size() && k < 2 * (kSweeps - 1); k += 2) {
      keyframe["sweeps"].push_back({numbers[k], numbers[k + 1]});
    }
    keyframes.push_back(keyframe);
  }
  std::ofstream(folder / "index.json")
      << nlohmann::json{{"keyframes", keyframes}, {"sweeps", sweeps}}.dump();
}

// bevformer_tiny.py's.
ImageOptions bevformer_images() {
  ImageOptions images{.transform = ScalePad{}, .augmentations = {PhotoMetricDistortion{}}};
  images.output.mean = {123.675F / 255, 116.28F / 255, 103.53F / 255};
  images.output.std = {58.395F / 255, 57.12F / 255, 57.375F / 255};
  return images;
}

LoaderOptions loader_options(const Options& options, const Split& split) {
  KeyframeOptions fields;
  fields.cameras.image.transform = ResizeCrop{
      .size = {256, 704}, .factor_min = 0.44, .factor_max = 0.44, .scaled_decode = !options.exact};
  if (options.bevformer) fields.cameras.image = bevformer_images();
  fields.lidar.is_on = !options.bevformer;
  if (options.clouds_only) fields.cameras.channels.clear();
  if (options.cameras_only) fields.lidar.is_on = false;
  fields.lidar.num_sweeps = kSweeps;
  fields.boxes.is_on = false;
  LoaderOptions out{.batch_size = options.batch, .image_field = "", .label_field = ""};
  out.fields = keyframe_fields(split, fields);
  out.num_threads = options.threads;
  out.memory.prefetch_batches = options.prefetch;
  out.io.read_ahead_epochs = !options.cold;
  return out;
}

void drop_folder(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) drop_from_cache(entry.path());
  }
}

void run(const Options& options) {
  const bool is_there = fs::exists(options.set() / "mini_val" / "manifest.json");
  if (!is_there) make_set(options);
  const Split split = open_split(options.set(), "mini_val");
  if (!is_there && !options.dct) export_files(split, options.folder / "files");
  Loader loader(split.keyframes, loader_options(options, split));
  const auto epoch = [&](int64_t number) {
    loader.set_epoch(number);
    int64_t num_samples = 0;
    while (const auto batch = loader.next()) num_samples += batch->size();
    return num_samples;
  };
  epoch(0);  // threads' memory, and the page cache
  int64_t num_samples = 0;
  double seconds = 0;
  const std::clock_t processor = std::clock();
  for (int64_t number = 1; seconds < options.seconds; ++number) {
    if (options.cold) drop_folder(options.set());
    const auto begin = std::chrono::steady_clock::now();
    num_samples += epoch(number);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const double processor_seconds = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
  const char* work = options.bevformer      ? ", BEVFormer"
                     : options.exact        ? ", exact pixels"
                     : options.cameras_only ? ", cameras alone"
                                            : "";
  fmt::print(
      "{{\"loader\": \"ffkit{}{}{}\", \"samples/s\": {:.2f}, \"processor s/sample\": {:.4f}, "
      "\"threads\": {}, \"verdict\": \"{}\"}}\n",
      work, options.dct ? ", dct code" : "", options.cold ? ", cold" : "",
      static_cast<double>(num_samples) / seconds,
      processor_seconds / static_cast<double>(num_samples), options.threads,
      loader.statistics().verdict());
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  ffkit::Options options;
  CLI::App app("Loads nuScenes keyframes and prints samples/s.", "nuscenes_bench");
  app.add_option("--folder", options.folder, "Where the data set is, or is made")->required();
  app.add_option("--root", options.root, "nuScenes data root to take a keyframe from");
  app.add_option("--keyframes", options.keyframes, "Keyframes to make")->check(CLI::Range(2, 1000));
  app.add_option("--seconds", options.seconds, "To measure, at least");
  app.add_option("--num-threads", options.threads, "Decoding threads")->check(CLI::Range(1, 256));
  app.add_option("--batch", options.batch, "Samples a batch")->check(CLI::Range(1, 256));
  app.add_option("--prefetch-batches", options.prefetch,
                 "Batches ahead; with --batch 1, 1 shows how long a sample takes")
      ->check(CLI::Range(1, 100));
  app.add_flag("--cold", options.cold, "Drops the records from the page cache before each epoch");
  app.add_flag("--clouds-only", options.clouds_only, "Without the cameras");
  app.add_flag("--cameras-only", options.cameras_only, "Without the cloud");
  app.add_flag("--bevformer", options.bevformer,
               "What BEVFormer trains with: the cameras distorted, halved and padded, no cloud");
  app.add_flag("--dct", options.dct, "With the pictures in the dct code");
  app.add_flag("--exact", options.exact, "Without decoding JPEGs at a fraction of their size");
  try {
    app.parse(argc, argv);
    ffkit::run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "nuscenes_bench: error: {}\n", e.what());
    return 1;
  }
}
