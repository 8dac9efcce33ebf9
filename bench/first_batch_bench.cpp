// first_batch_bench: from nothing to the first batch of a data set of many shards: what every start
// of a training run waits for. Opening the data set, opening the loader and next(), each a share of
// the time; with the files in the page cache and dropped from it. With --linked, of hundreds of
// thousands of shards, which are hard links of a few: what a manifest of that size costs, in memory
// and descriptors too.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>

#include "drop_from_cache.h"
#include "loader/threads/threads.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace {

struct Times {
  double dataset = 0;
  double loader = 0;
  double batch = 0;
  double sum() const { return dataset + loader + batch; }
};

Times measure(const std::filesystem::path& folder, const ffkit::LoaderOptions& options) {
  const auto seconds = [](int64_t from, int64_t to) {
    return static_cast<double>(to - from) * 1e-9;
  };
  const int64_t begin = ffkit::now_ns();
  const ffkit::Dataset dataset = ffkit::Dataset::open(folder);
  const int64_t opened = ffkit::now_ns();
  ffkit::Loader loader(dataset, options);
  const int64_t made = ffkit::now_ns();
  const auto batch = loader.next();
  return {seconds(begin, opened), seconds(opened, made), seconds(made, ffkit::now_ns())};
}

void drop_folder(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    drop_from_cache(entry.path());
  }
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6;
}

int64_t num_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// A split of that many shards, which are hard links of 16: a file may have 65,000 on ext4.
void link_shards(const std::filesystem::path& from, const std::filesystem::path& to,
                 int64_t num_shards) {
  const ffkit::Dataset base = ffkit::Dataset::open(from);
  ffkit::Manifest manifest = base.manifest();
  manifest.shards.clear();
  std::filesystem::create_directory(to);
  for (int64_t i = 0; i < num_shards; ++i) {
    const ffkit::ShardReader& shard = base.shard(i % base.num_shards());
    const std::string name = fmt::format("shard-{:06}.ffr", i);
    std::filesystem::create_hard_link(shard.path(), to / name);
    manifest.shards.push_back({shard.facts(), name});
  }
  ffkit::write_manifest(to / "manifest.json", manifest);
}

void run_linked(int64_t num_shards, int repetitions) {
  const ffkit::testing::TempDir dir;
  ffkit::testing::make_dataset(
      dir / "base", {.num_records = 16 * 2500, .num_shards = 16, .width = 48, .height = 40});
  link_shards(dir / "base", dir / "train", num_shards);
  ffkit::LoaderOptions options;
  options.batch_size = 256;
  options.num_threads = 2;
  constexpr int kMoreBatches = 40;
  for (const int64_t window : {int64_t{0}, int64_t{4096}}) {
    options.sampler.order = window > 0 ? ffkit::Order::windowed : ffkit::Order::shuffle;
    for (int i = 0; i < repetitions; ++i) {
      malloc_trim(0);
      const double before = resident_mb();
      const int64_t begin = ffkit::now_ns();
      const ffkit::Manifest manifest = ffkit::read_manifest(dir / "train/manifest.json");
      const int64_t read = ffkit::now_ns();
      malloc_trim(0);
      const double with_manifest = resident_mb();
      const int64_t open_begin = ffkit::now_ns();
      const ffkit::Dataset dataset = ffkit::Dataset::open(dir / "train");
      const int64_t opened = ffkit::now_ns();
      malloc_trim(0);
      const double with_dataset = resident_mb();
      ffkit::Loader loader(dataset, options);
      loader.next();
      const int64_t first = ffkit::now_ns();
      for (int more = 0; more < kMoreBatches; ++more) loader.next();
      const int64_t last = ffkit::now_ns();
      const auto seconds = [](int64_t from, int64_t to) {
        return static_cast<double>(to - from) * 1e-9;
      };
      fmt::print(
          "{} shards, {} records, {}: read the manifest ({:.0f} MB of JSON) {:.3f} s, open {:.3f} "
          "s, first batch {:.3f} s, then {:.0f} samples/s; memory: manifest {:.0f} MB, data set "
          "beyond it {:.0f} MB; {} descriptors\n",
          num_shards, dataset.num_records(), window > 0 ? "windowed shuffle" : "shuffle",
          static_cast<double>(std::filesystem::file_size(dir / "train/manifest.json")) / 1e6,
          seconds(begin, read), seconds(open_begin, opened), seconds(opened, first),
          kMoreBatches * static_cast<double>(options.batch_size) / seconds(first, last),
          with_manifest - before, with_dataset - with_manifest - (with_manifest - before),
          num_descriptors());
    }
  }
}

void run(int64_t num_shards, int repetitions, bool json) {
  // Each shard is open twice: by the data set and by the loader.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  const ffkit::testing::TempDir dir;
  ffkit::testing::make_dataset(
      dir / "train",
      {.num_records = num_shards * 4, .num_shards = num_shards, .width = 300, .height = 260});
  ffkit::LoaderOptions options;
  options.batch_size = 256;
  options.sampler.tail = ffkit::Tail::exact;  // of few shards too
  options.num_threads = 2;
  for (const bool cold : {false, true}) {
    std::vector<Times> all;
    for (int i = 0; i <= repetitions; ++i) {
      if (cold) drop_folder(dir / "train");
      const Times times = measure(dir / "train", options);
      if (i > 0 || repetitions == 0) all.push_back(times);
    }
    std::sort(all.begin(), all.end(),
              [](const Times& a, const Times& b) { return a.sum() < b.sum(); });
    const Times& median = all[all.size() / 2];
    const char* cache = cold ? "cold" : "warm";
    if (json) {
      fmt::print(
          "{{\"name\": \"first batch\", \"cache\": \"{}\", \"seconds\": {}, \"low\": {}, \"high\": "
          "{}, "
          "\"repetitions\": {}}}\n",
          cache, median.sum(), all.front().sum(), all.back().sum(), all.size());
    } else {
      fmt::print(
          "first batch of {} shards, {} cache: {:.3f} s ({:.3f} .. {:.3f}): open the data set "
          "{:.3f}, the loader "
          "{:.3f}, read and decode {} pictures {:.3f}\n",
          num_shards, cache, median.sum(), all.front().sum(), all.back().sum(), median.dataset,
          median.loader, options.batch_size, median.batch);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t num_shards = 1000;
  int repetitions = 5;
  bool json = false;
  bool linked = false;
  CLI::App app{"Measures the time from opening a data set of many shards to its first batch."};
  app.add_option("--shards", num_shards, "in the data set")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", repetitions, "after one that is left out")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", json, "one JSON object a row");
  app.add_flag("--linked", linked,
               "shards of 2,500 records that are hard links of 16, so that many need no space");
  CLI11_PARSE(app, argc, argv);
  try {
    linked ? run_linked(num_shards, repetitions) : run(num_shards, repetitions, json);
  } catch (const std::exception& e) {
    fmt::print(stderr, "first_batch_bench: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
