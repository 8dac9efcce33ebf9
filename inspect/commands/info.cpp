// ffinspect info: what a data set is.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/readable_numbers.h"
#include "commands.h"
#include "data/data_sets.h"
#include "data/record_sizes.h"
#include "text/fields.h"
#include "text/histogram.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kInfoFooter =
    R"(The record sizes are of all records, or of an even sample when there are more than two million.

With --json: one document {"splits": [...]}, each with split, path, num_records, num_shards, format_version,
  file_bytes, stored_bytes and raw_bytes (of records, compressed and not), compression_ratio, record_size
  (num_records, is_sample, min, median, mean, max, histogram of begin, end, num_records), fields (name, type,
  item, dtype, column), classes, class_names, class_ids, source, options, created_by, fingerprint, warnings.)";

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
  fmt::print("  records      {} in {} {}, {}\n", with_commas(dataset.num_records()),
             with_commas(dataset.num_shards()), dataset.num_shards() == 1 ? "shard" : "shards",
             human_bytes(manifest.file_bytes()));
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
              "Counts, record sizes, schema, classes, source and options of every split", *target,
              kInfoFooter)
      ->callback([target, &action] { action = [target] { return info(*target); }; });
}

}  // namespace ffkit
