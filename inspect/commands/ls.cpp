// ffinspect ls: one line a record.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include <ffkit/format/packed_folder.h>

#include "commands.h"
#include "data/data_sets.h"
#include "format/schema/label_field.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kLsFooter =
    R"(With --json: JSON Lines, one object for each record with split, record and fields. Records with a label have class and class_name too.
  The value of a field is null, a number or a text; numbers that are not finite are the texts "nan", "inf", "-inf". For images it is an object with num_bytes, encoding, width and height; for bytes, num_bytes;
  for tensors, dtype and shape; for lists, an array of these. For a packed folder (FFRecord v1): path, record, num_bytes.)";

struct LsOptions {
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
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    line += "\t" + field_text(schema.fields[f], record.field(f));
  }
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
    fields[schema.fields[f].name] = field_json(schema.fields[f], record.field(f), Detail::sizes);
  }
  return record_document(dataset, index, record, std::move(fields));
}

// One line a file: its path and size; with --json, objects with path, record and num_bytes.
void list_packed(const Target& target, int64_t first, int64_t limit) {
  const PackedFolder folder(target.path, target.reader);
  if (!target.json) fmt::print("file\trecord\tbytes\n");
  const int64_t count = std::ssize(folder.files());
  const int64_t begin = std::min(first, count);
  const int64_t end = begin + std::min(limit, count - begin);
  for (int64_t i = begin; i < end; ++i) {
    const PackedFolder::File& file = folder.files()[i];
    if (target.json) {
      print_json_line(
          {{"path", file.path}, {"record", file.record}, {"num_bytes", file.num_bytes}});
    } else {
      fmt::print("{}\t{}\t{}\n", escaped(file.path), file.record, file.num_bytes);
    }
  }
}

int ls(const LsOptions& options) {
  if (is_packed(options.target)) {
    list_packed(options.target, options.first, options.limit);
    return 0;
  }
  std::vector<std::byte> bytes;
  for (const Dataset& dataset : open_splits(options.target)) {
    if (!options.target.json) print_header(dataset);
    const int64_t begin = std::min(options.first, dataset.num_records());
    const int64_t end = begin + std::min(options.limit, dataset.num_records() - begin);
    for (int64_t i = begin; i < end; ++i) {
      dataset.read(i, bytes);
      const RecordView record(dataset.schema(), bytes, dataset.name(i));
      const int64_t number = dataset.index_in_split(i);
      if (options.target.json) {
        print_json_line(line_json(dataset, number, record));
      } else {
        print_line(dataset, number, record);
      }
    }
  }
  return 0;
}

}  // namespace

void add_ls_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<LsOptions>();
  CLI::App* command = add_command(app, "ls",
                                  "Prints one tab-separated line for each record. Images, bytes "
                                  "and tensors are shown by their size",
                                  options->target, kLsFooter);
  command->add_option("--first", options->first, "Number of the first record to list")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--limit", options->limit, "Lists at most this number of records of each split")
      ->check(CLI::NonNegativeNumber);
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return ls(*options); }; });
}

}  // namespace ffkit
