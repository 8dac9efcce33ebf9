// first_batch_bench: from nothing to the first batch of a data set of many shards: what every start
// of a training run waits for. Opening the data set, opening the loader and next(), each a share of
// the time; with the files in the page cache and dropped from it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>

#include "drop_from_cache.h"
#include "loader/threads/stats_counters.h"
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
  CLI::App app{"Measures the time from opening a data set of many shards to its first batch."};
  app.add_option("--shards", num_shards, "in the data set")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", repetitions, "after one that is left out")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", json, "one JSON object a row");
  CLI11_PARSE(app, argc, argv);
  try {
    run(num_shards, repetitions, json);
  } catch (const std::exception& e) {
    fmt::print(stderr, "first_batch_bench: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
