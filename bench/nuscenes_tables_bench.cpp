// nuScenes' metadata: tables of trainval's size are made up, read, and every file they name is
// looked for; time and peak memory of each step.
//
//   nuscenes_tables_bench --folder /tmp/tables            trainval's size, about 3 GB in the
//                                                         folder, removed at the end
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/nuscenes/classes.h>

#include "nuscenes/nuscenes_tables.h"
#include "sources/nuscenes/listing.h"
#include "sources/nuscenes/tables/tables.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace ffkit;
using namespace ffkit::nuscenes;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

double folder_mb(const fs::path& folder) {
  uintmax_t num_bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) num_bytes += entry.file_size();
  return static_cast<double>(num_bytes) / 1e6;
}

// As trainval: 850 scenes of 40 keyframes, 81 frames from one to the next, 34 boxes in each.
ffkit::testing::NuScenesShape trainval(int scenes) {
  std::vector<std::string> names = scenes_of_split("train");
  for (const std::string& name : scenes_of_split("val")) names.push_back(name);
  names.resize(std::min(names.size(), static_cast<size_t>(scenes)));
  return {.version = "v1.0-trainval",
          .scenes = std::move(names),
          .keyframes = 40,
          .lidar_sweeps = 9,
          .camera_sweeps = 5,
          .radar_sweeps = 6,
          .instances = 76,
          .lifetime = 18,
          .logs = 68};
}

void run(const fs::path& folder, int scenes) {
  fs::create_directories(folder);
  auto start = Clock::now();
  ffkit::testing::NuScenesTables(trainval(scenes)).write(folder);
  fmt::print("made: {:.0f} MB of tables of {} scenes in {:.1f} s; {} processors\n",
             folder_mb(folder / "v1.0-trainval"), scenes, seconds_since(start), usable_cores());
  Tables tables;
  start = Clock::now();
  read_tables(folder / "v1.0-trainval", tables);
  const double read_seconds = seconds_since(start);
  fmt::print(
      "read: {} samples, {} sample_data, {} ego_pose, {} sample_annotation in {:.1f} s, peak "
      "{:.0f} MB\n",
      tables.samples.size(), tables.sample_data.size(), tables.ego_poses.size(),
      tables.annotations.size(), read_seconds, peak_mb());
  ListingOptions options;
  options.is_taken.fill(true);
  options.num_sweeps.fill(10);
  start = Clock::now();
  try {
    const ffkit::nuscenes::Listing listing(tables, folder, "v1.0-trainval", options);
  } catch (const Error& error) {  // there are no files
    fmt::print("preflight: {}\n", error.what());
  }
  fmt::print("preflight of every file: {:.1f} s; all: {:.1f} s, peak {:.0f} MB\n",
             seconds_since(start), read_seconds + seconds_since(start), peak_mb());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reading nuScenes' tables");
  fs::path folder;
  int scenes = 850;
  app.add_option("--folder", folder, "Where to put the tables; new")->required();
  app.add_option("--scenes", scenes, "Of trainval's 850")
      ->check(CLI::Range(1, 850))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (fs::exists(folder)) {
    fmt::print(stderr, "nuscenes_tables_bench: error: {} is there already; give a new folder\n",
               folder.string());
    return 1;
  }
  run(folder, scenes);
  fs::remove_all(folder);
}
