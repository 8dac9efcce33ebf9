// ffinspect info: what a data set is.
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kInfoFooter =
    R"(The record sizes are computed from all records, or from an even sample if there are more than two million records.

With --json: one document {"splits": [...]}, each with split, path, num_records, num_shards, format_version,
  file_bytes, stored_bytes and raw_bytes (of records, compressed and not), compression_ratio, record_size
  (num_records, is_sample, min, median, mean, max, histogram of begin, end, num_records), fields (name, type,
  item, dtype, column), classes, class_names, class_ids, source, options, created_by, fingerprint, warnings.)";

constexpr int64_t kMaxRecords = 2'000'000;
constexpr int64_t kNumRuns = 512;
constexpr int64_t kRunRecords = 127;

// How large the records of a split are, from its index.
struct RecordSizes {
  std::vector<int64_t> stored_bytes;  // sorted; of all records, or of an even sample
  int64_t mean = 0;                   // of those
  bool is_sample = false;
};

// Looks at all of up to 2,000,000 records, else at 512 runs of 127 (one index page holds as many)
// spread evenly: memory and time stay bounded. Uses all threads.
RecordSizes read_record_sizes(const Dataset& dataset) {
  const int64_t num_records = dataset.num_records();
  RecordSizes sizes;
  sizes.is_sample = num_records > kMaxRecords;
  const int64_t count = sizes.is_sample ? kNumRuns * kRunRecords : num_records;
  sizes.stored_bytes.resize(count);
  std::atomic<int64_t> stored_sum = 0;
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, 1024), [&](const auto& range) {
    int64_t stored = 0;
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      const int64_t run_begin = num_records / kNumRuns * (i / kRunRecords);
      const RecordLocation where =
          dataset.locate(sizes.is_sample ? run_begin + i % kRunRecords : i).record;
      sizes.stored_bytes[i] = where.stored_bytes;
      stored += where.stored_bytes;
    }
    stored_sum += stored;
  });
  sizes.mean = stored_sum / std::max<int64_t>(1, count);
  tbb::parallel_sort(sizes.stored_bytes);
  return sizes;
}

struct Bin {
  int64_t begin = 0;  // values v with begin <= v < end
  int64_t end = 0;
  int64_t count = 0;
};

constexpr size_t kMinBins = 6;
constexpr size_t kMaxBins = 14;
constexpr size_t kMinDecades = 4;

// Round numbers of `steps` in every decade, from the last one that is <= low to the first that is >
// high.
std::vector<int64_t> ratio_limits(int64_t low, int64_t high, std::span<const double> steps) {
  std::vector<int64_t> limits;
  for (double decade = 1;; decade *= 10) {
    for (const double step : steps) {
      const double limit = decade * step;
      if (limit != std::floor(limit)) continue;
      if (limit > 9e18) return limits;
      const auto value = static_cast<int64_t>(limit);
      if (value <= low) limits.clear();
      limits.push_back(value);
      if (value > high) return limits;
    }
  }
}

// Multiples of 1, 2 or 5 times a power of ten.
std::vector<int64_t> even_limits(int64_t low, int64_t high) {
  constexpr std::array<int64_t, 3> kSteps = {1, 2, 5};
  int64_t decade = 1;
  size_t step = 0;
  const auto width = [&] { return decade * kSteps[step]; };
  while (high / width() - low / width() + 1 > static_cast<int64_t>(kMaxBins)) {
    step = (step + 1) % kSteps.size();
    if (step == 0) decade *= 10;
  }
  std::vector<int64_t> limits;
  for (int64_t at = low / width() * width(); limits.empty() || limits.back() <= high;
       at += width()) {
    limits.push_back(at);
  }
  return limits;
}

std::vector<int64_t> choose_limits(int64_t low, int64_t high) {
  constexpr std::array<double, 6> kSix = {1, 1.5, 2, 3, 5, 7};
  constexpr std::array<double, 3> kThree = {1, 2, 5};
  constexpr std::array<double, 1> kOne = {1};
  const int64_t first = std::max<int64_t>(low, 1);
  for (const std::span<const double> steps :
       {std::span<const double>(kSix), std::span<const double>(kThree)}) {
    std::vector<int64_t> limits = ratio_limits(first, std::max(high, first), steps);
    if (limits.size() <= kMinBins) break;
    if (limits.size() <= kMaxBins + 1) return limits;
  }
  std::vector<int64_t> limits = ratio_limits(first, std::max(high, first), kOne);
  // Less than about a decade: even widths show more than ratios do.
  return limits.size() >= kMinDecades ? limits : even_limits(low, high);
}

// Between one and about a dozen bins with round limits over non-negative `values`: of even width
// where these are close together, else of even ratio. Empty for no values.
std::vector<Bin> make_bins(std::span<const int64_t> values) {
  if (values.empty()) return {};
  const auto [low, high] = std::ranges::minmax(values);
  std::vector<int64_t> limits = choose_limits(low, high);
  limits.front() = std::min(limits.front(), low);
  std::vector<Bin> bins;
  for (size_t i = 0; i + 1 < limits.size(); ++i) bins.push_back({limits[i], limits[i + 1], 0});
  for (const int64_t value : values) {
    const auto above = std::ranges::upper_bound(limits, value) - limits.begin();
    ++bins[static_cast<size_t>(above) - 1].count;
  }
  return bins;
}

constexpr size_t kClassesShown = 3;
constexpr size_t kFactBytesShown = 100;

int64_t median(const std::vector<int64_t>& sorted) {
  return sorted[sorted.size() / 2];
}

double compression_ratio(const Manifest& manifest) {
  return static_cast<double>(manifest.raw_bytes()) /
         static_cast<double>(std::max<int64_t>(1, manifest.record_bytes()));
}

std::string compression_text(const Manifest& manifest) {
  if (manifest.raw_bytes() == manifest.record_bytes()) return "none (ratio 1.00)";
  return fmt::format("ratio {:.2f}: {} of records stored as {}", compression_ratio(manifest),
                     human_bytes(manifest.raw_bytes()), human_bytes(manifest.record_bytes()));
}

// A long one, such as what a source has listed, by its beginning: --json has all of it.
std::string shortened(const std::string& text) {
  if (text.size() <= kFactBytesShown) return escaped(text);
  return fmt::format("{}... ({} bytes)", escaped(text.substr(0, kFactBytesShown)),
                     with_commas(std::ssize(text)));
}

void print_facts(const char* title, const std::map<std::string, std::string>& facts) {
  for (const auto& [key, value] : facts) {
    fmt::print("  {:<12} {} = {}\n", title, escaped(key), shortened(value));
    title = "";
  }
}

void print_classes(const Manifest& manifest) {
  if (manifest.classes.empty()) {
    fmt::print("  classes      none\n");
    return;
  }
  fmt::print("  classes      {}: ", with_commas(std::ssize(manifest.classes)));
  for (size_t i = 0; i < std::min(kClassesShown, manifest.classes.size()); ++i) {
    const std::string name = class_name_of(manifest, static_cast<int64_t>(i));
    const std::string id =
        manifest.class_ids.empty() ? "" : fmt::format("{} = ", to_string(manifest.class_ids[i]));
    fmt::print("{}{}{}{}", i == 0 ? "" : "; ", escaped(id), escaped(manifest.classes[i]),
               name.empty() ? "" : fmt::format(" ({})", escaped(name)));
  }
  fmt::print("{}\n", manifest.classes.size() > kClassesShown ? "; ..." : "");
}

void print_sizes(const RecordSizes& sizes) {
  if (sizes.stored_bytes.empty()) return;
  fmt::print("  record size  {} to {}, median {}, mean {}{}\n",
             human_bytes(sizes.stored_bytes.front()), human_bytes(sizes.stored_bytes.back()),
             human_bytes(median(sizes.stored_bytes)), human_bytes(sizes.mean),
             sizes.is_sample ? fmt::format(" (sample of {} records)",
                                           with_commas(std::ssize(sizes.stored_bytes)))
                             : "");
  const std::vector<Bin> bins = make_bins(sizes.stored_bytes);
  const int64_t largest = std::ranges::max(bins, {}, &Bin::count).count;
  for (const Bin& bin : bins) {
    fmt::print("{:>15} to {:>8}  {:>9}{}\n", human_bytes(bin.begin), human_bytes(bin.end),
               with_commas(bin.count), bin.count == 0 ? "" : "  " + bar(bin.count, largest));
  }
}

void print_info(const Dataset& dataset) {
  const Manifest& manifest = dataset.manifest();
  const RecordSizes sizes = read_record_sizes(dataset);
  fmt::print("{}\n", dataset.path().string());
  fmt::print("  split        {}\n", manifest.split);
  fmt::print("  records      {} in {}, {}\n", with_commas(dataset.num_records()),
             counted(dataset.num_shards(), "shard"), human_bytes(manifest.file_bytes()));
  fmt::print("  compression  {}\n", compression_text(manifest));
  print_sizes(sizes);
  const char* title = "fields";
  for (const Field& field : manifest.schema.fields) {
    fmt::print("  {:<12} {}\n", title, describe_field(field));
    title = "";
  }
  print_classes(manifest);
  print_facts("source", manifest.source);
  print_facts("options", manifest.options);
  if (!manifest.created_by.empty()) {
    fmt::print("  made by      {}\n", escaped(manifest.created_by));
  }
  fmt::print("  fingerprint  {}\n", dataset.fingerprint());
  for (const std::string& warning : dataset.warnings()) fmt::print("  note         {}\n", warning);
}

Json sizes_json(const RecordSizes& sizes) {
  Json json = {{"num_records", sizes.stored_bytes.size()}, {"is_sample", sizes.is_sample}};
  if (!sizes.stored_bytes.empty()) {
    json["min"] = sizes.stored_bytes.front();
    json["median"] = median(sizes.stored_bytes);
    json["mean"] = sizes.mean;
    json["max"] = sizes.stored_bytes.back();
  }
  Json& histogram = json["histogram"] = Json::array();
  for (const Bin& bin : make_bins(sizes.stored_bytes)) {
    histogram.push_back({{"begin", bin.begin}, {"end", bin.end}, {"num_records", bin.count}});
  }
  return json;
}

Json class_ids_json(const Manifest& manifest) {
  Json ids = Json::array();
  for (const ClassId& id : manifest.class_ids) {
    std::visit([&ids](const auto& value) { ids.push_back(value); }, id);
  }
  return ids;
}

Json split_json(const Dataset& dataset) {
  const Manifest& manifest = dataset.manifest();
  Json fields = Json::array();
  for (const Field& field : manifest.schema.fields) fields.push_back(field_description_json(field));
  return {{"split", manifest.split},
          {"path", dataset.path().string()},
          {"num_records", dataset.num_records()},
          {"num_shards", dataset.num_shards()},
          {"format_version", dataset.format_version()},
          {"file_bytes", manifest.file_bytes()},
          {"stored_bytes", manifest.record_bytes()},
          {"raw_bytes", manifest.raw_bytes()},
          {"compression_ratio", compression_ratio(manifest)},
          {"record_size", sizes_json(read_record_sizes(dataset))},
          {"fields", fields},
          {"classes", manifest.classes},
          {"class_names", manifest.class_names},
          {"class_ids", class_ids_json(manifest)},
          {"source", manifest.source},
          {"options", manifest.options},
          {"created_by", manifest.created_by},
          {"fingerprint", dataset.fingerprint()},
          {"warnings", dataset.warnings()}};
}

int info(const Target& target) {
  Json splits = Json::array();
  bool is_first = true;
  for (const Dataset& dataset : open_splits(target)) {
    if (target.json) {
      splits.push_back(split_json(dataset));
    } else {
      if (!is_first) fmt::print("\n");
      print_info(dataset);
    }
    is_first = false;
  }
  if (target.json) print_json({{"splits", splits}});
  return 0;
}

}  // namespace

void add_info_command(CLI::App& app, Action& action) {
  const auto target = std::make_shared<Target>();
  add_command(app, "info",
              "Prints counts, record sizes, schema, classes, source and options of every split",
              *target, kInfoFooter)
      ->callback([target, &action] { action = [target] { return info(*target); }; });
}

}  // namespace ffkit
