// ffinspect ls: one line a record.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "data_sets.h"
#include "fields.h"
#include "output.h"

namespace ffkit {
namespace {

constexpr const char* kFooter =
    R"(With --json: JSON Lines, one object a record with split, record, fields (by name: null, a number, a text, or for
  images num_bytes, encoding, width, height, for bytes num_bytes, for tensors dtype, shape, or an array of these), and where there is
  a label class, class_name.)";

struct Options {
  Target target;
  int64_t first = 0;
  int64_t limit = std::numeric_limits<int64_t>::max();
};

void print_header(const Dataset& dataset) {
  std::string header = "split\trecord";
  for (const Field& field : dataset.schema().fields) header += "\t" + escaped(field.name);
  if (find_label_field(dataset.schema())) header += "\tclass";
  fmt::print("{}\n", header);
}

void print_line(const Dataset& dataset, int64_t index, const RecordView& record) {
  const Schema& schema = dataset.schema();
  std::string line = fmt::format("{}\t{}", dataset.manifest().split, index);
  for (size_t f = 0; f < schema.fields.size(); ++f) line += "\t" + field_text(schema, record, f);
  if (find_label_field(schema)) {
    const auto label = label_of(schema, record);
    line += "\t" + (label ? escaped(class_of(dataset.manifest(), *label)) : "");
  }
  fmt::print("{}\n", line);
}

Json line_json(const Dataset& dataset, int64_t index, const RecordView& record) {
  const Schema& schema = dataset.schema();
  Json fields = Json::object();
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    fields[schema.fields[f].name] = field_json(schema, record, f, Detail::sizes);
  }
  Json json = {{"split", dataset.manifest().split}, {"record", index}, {"fields", fields}};
  if (const auto label = label_of(schema, record); label) {
    json["class"] = class_of(dataset.manifest(), *label);
    json["class_name"] = class_name_of(dataset.manifest(), *label);
  }
  return json;
}

int ls(const Options& options) {
  std::vector<std::byte> bytes;
  for (const Dataset& dataset : open_splits(options.target)) {
    if (!options.target.json) print_header(dataset);
    const int64_t begin = std::min(options.first, dataset.num_records());
    const int64_t end = begin + std::min(options.limit, dataset.num_records() - begin);
    for (int64_t i = begin; i < end; ++i) {
      dataset.read(i, bytes);
      const RecordView record(dataset.schema(), bytes);
      if (options.target.json) {
        print_json_line(line_json(dataset, i, record));
      } else {
        print_line(dataset, i, record);
      }
    }
  }
  return 0;
}

}  // namespace

void add_ls_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      app, "ls", "One line a record, tab-separated; images, bytes and tensors show their size",
      options->target, kFooter);
  command->add_option("--first", options->first, "Number of the first record listed")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--limit", options->limit, "List at most this many records of a split")
      ->check(CLI::NonNegativeNumber);
  command->callback([options, &action] { action = [options] { return ls(*options); }; });
}

}  // namespace ffkit
