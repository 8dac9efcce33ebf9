// ffinspect export: back to a folder tree.
#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "data/data_sets.h"
#include "export/exporter.h"
#include "export/new_tree.h"
#include "export/packed.h"
#include "format/readable_numbers.h"
#include "text/output.h"
#include "tools/stop_signals.h"

namespace ffkit {
namespace {

constexpr const char* kExportFooter =
    R"(A data set for image classification has an image, an integer 'label' and maybe a string 'id'. Its files are
  OUT/<split>/<class>/<file name from id>
The file name is the part of the id behind the class folder. Its extension comes from the encoding when the id has none, or when the picture
is raw pixels (.ppm). A picture in the dct code becomes the JPEG file that it was made from. When two names are equal, the later record gets the name name-2.

The files of all other data sets are
  OUT/<split>/<record number>/<field>.<ext>
Tensors become .npy (bf16 as float32), numbers and strings .txt. The field 'cam_front/image' is in a folder cam_front. The items of a list are in a
folder with the name of the list. Null fields have no file. A packed folder (FFRecord v1) becomes its original folder tree.

Nothing is overwritten. The files are first written to OUT.ffinspect-export, or to OUT/.ffinspect-export when OUT is an empty folder. They are moved
to OUT when they are complete. An export that fails, or that is stopped by Ctrl-C, removes them. The next export removes what a killed one left.

With --json: one document with output, splits: [split, num_records, num_files, num_bytes, num_skipped,
  renamed: [record, file]]. For a packed folder: output, num_files, num_folders, num_bytes.)";

struct ExportOptions {
  Target target;
  std::string destination;
};

void print_export(const ExportedSplit& split, const std::string& destination) {
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

Json export_to_json(const ExportedSplit& split) {
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

int export_tree(const ExportOptions& options) {
  catch_stop_signals();
  if (is_packed(options.target)) {
    export_packed(options.target, options.destination);
    return 0;
  }
  const auto results = export_splits(open_splits(options.target), options.destination);
  Json splits = Json::array();
  for (const ExportedSplit& split : results) {
    if (options.target.json) {
      splits.push_back(export_to_json(split));
    } else {
      print_export(split, options.destination);
    }
  }
  if (options.target.json) print_json({{"output", options.destination}, {"splits", splits}});
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = add_command(app, "export", "Writes the data set as files in a folder tree",
                                  options->target, kExportFooter);
  command
      ->add_option("OUT", options->destination, "Folder to write to; it must be empty or not exist")
      ->required()
      ->option_text(" ");
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return export_tree(*options); }; });
}

}  // namespace ffkit
