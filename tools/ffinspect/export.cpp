// ffinspect export: back to a folder tree.
#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "data_sets.h"
#include "exporter.h"
#include "output.h"
#include "packed.h"

namespace ffkit {
namespace {

constexpr const char* kFooter =
    R"(Image classification sets, whose fields are an image, an integer 'label' and perhaps a string 'id', become
  OUT/<split>/<class>/<file name from id>
with what the id has below the class' folder, and an extension by encoding where it has none or the picture is raw pixels (.ppm). Of two equal names the
later record's becomes name-2. All other schemas become
  OUT/<split>/<record number>/<field>.<ext>
with tensors as .npy (bf16 as float32), numbers and strings as .txt; 'cam_front/image' lies in a folder cam_front, the
items of a list in one of the list's name. Null fields have no file. A packed folder (FFRecord v1) becomes the tree that it was. Nothing is overwritten; an export that fails removes what it wrote.

With --json: one document with output, splits: [split, num_records, num_files, num_bytes, num_skipped,
  renamed: [record, file]]; for a packed folder output, num_files, num_folders, num_bytes.)";

struct Options {
  Target target;
  std::string destination;
};

void print_text(const ExportedSplit& split, const std::string& destination) {
  fmt::print("{}: {} records to {} {} in {}/{}, {}\n", split.split, with_commas(split.num_records),
             with_commas(split.num_files), split.num_files == 1 ? "file" : "files", destination,
             split.split, human_bytes(split.num_bytes));
  if (split.num_skipped > 0) {
    fmt::print("{}: records without a file, because what it would hold is null: {}\n", split.split,
               with_commas(split.num_skipped));
  }
  for (const auto& [record, path] : split.renamed) {
    fmt::print("{}: record {}: its name is taken; written as {}\n", split.split, record,
               escaped(path));
  }
}

Json to_json(const ExportedSplit& split) {
  Json renamed = Json::array();
  for (const auto& [record, path] : split.renamed) {
    renamed.push_back({{"record", record}, {"file", path}});
  }
  return {{"split", split.split},
          {"num_records", split.num_records},
          {"num_files", split.num_files},
          {"num_bytes", split.num_bytes},
          {"num_skipped", split.num_skipped},
          {"renamed", renamed}};
}

int export_tree(const Options& options) {
  if (is_packed(options.target)) {
    export_packed(options.target, options.destination);
    return 0;
  }
  const auto results = export_splits(open_splits(options.target), options.destination);
  Json splits = Json::array();
  for (const ExportedSplit& split : results) {
    if (options.target.json) {
      splits.push_back(to_json(split));
    } else {
      print_text(split, options.destination);
    }
  }
  if (options.target.json) print_json({{"output", options.destination}, {"splits", splits}});
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(app, "export", "Back to a folder tree of files", options->target, kFooter);
  command
      ->add_option("OUT", options->destination, "Folder to write to; it must be empty or not exist")
      ->required();
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return export_tree(*options); }; });
}

}  // namespace ffkit
