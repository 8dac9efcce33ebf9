// ffinspect export: back to files, of other libraries too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/format/packed_folder.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "export/exported.h"
#include "forms/exporter.h"
#include "text/output.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

constexpr const char* kExportFooter =
    R"(Forms (--as):

files, the default. A data set for image classification has an image, an integer 'label' and maybe a string 'id'. Its files are
  OUT/<split>/<class>/<file name from id>
The file name is the part of the id behind the class folder. Its extension comes from the encoding when the id has none, or when the picture
is raw pixels (.ppm). A picture in the dct code becomes the JPEG file that it was made from. When two names are equal, the later record gets the name name-2.

The files of all other data sets are
  OUT/<split>/<record number>/<field>.<ext>
Tensors become .npy (bf16 as float32), numbers and strings .txt. The field 'cam_front/image' is in a folder cam_front. The items of a list are in a
folder with the name of the list. Null fields have no file. A packed folder (FFRecord v1) becomes its original folder tree.

If classes have equal names, or names with '/', their folders get other names. OUT/classes.txt has the names in the order of the labels, also if
that is not the order of the names, or a class has no file. Give this file to ffconvert folder --classes.

imagefolder: the same for image classification; other data sets are refused.

webdataset: tar files, OUT/<split>/<split>-000000.tar, ... A sample's key is the id without the ending of a picture file, or the record number if the id
cannot be a key; then the id is in a member .id.txt. An image is .jpg, .png, ..., an integer 'label' .cls, a string .txt, a tensor and any other number
.npy, and bytes have the name of their field. A field 'left/image' is .left.jpg. Null fields have no member. The command prints at the end which fields
`ffconvert webdataset` gives back in another form, and which options it needs.

mds: MosaicML Streaming's shards, OUT/<split>/index.json, shard.00000.mds, ... A field is a column: jpeg, png, str, int, uint8 .. float64, ndarray,
bytes, list[jpeg], json for lists of strings. Null fields and lists of tensors or bytes are refused, because MDS cannot store them; leave them
out with --fields.

webdataset and mds write the classes into OUT/classes.txt, one on each line, and readable names into OUT/class_names.txt. The bytes of pictures are kept in
all forms. Parquet is written by Python's ffkit.Dataset.to_parquet().

Nothing is overwritten. The files are first written to OUT.ffinspect-export, or to OUT/.ffinspect-export when OUT is an empty folder. They are moved
to OUT when they are complete. An export that fails, or that is stopped by Ctrl-C, removes them. The next export removes the files of a killed one.

With --json: one document with output, form, class_files, notes, way_back (the command that converts it again, or null), splits: [split, num_records,
  num_files, num_bytes, num_skipped, renamed: [record, file], notes]. For a packed folder: output, num_files, num_folders, num_bytes.)";

struct ExportOptions {
  Target target;
  std::string destination;
  std::string form = "files";
  int64_t shard_bytes = 0;
  std::string fields;  // with commas between them
};

std::vector<std::string> names_in_list(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0; !list.empty() && begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

void print_export(const ExportedSplit& split, const std::string& destination) {
  fmt::print("{}: {} records to {} in {}/{}, {}\n", split.split, with_commas(split.num_records),
             counted(split.num_files, "file"), destination, split.split,
             human_bytes(split.num_bytes));
  if (split.num_skipped > 0) {
    fmt::print("{}: records without a file, because their fields are null: {}\n", split.split,
               with_commas(split.num_skipped));
  }
  for (const auto& [record, path] : split.renamed) {
    fmt::print("{}: record {}: its file name exists already; written as {}\n", split.split, record,
               escaped(path));
  }
  for (const ExportNote& note : split.notes) {
    fmt::print("{}: {}\n", split.split, escaped(note.text(/*is_whole=*/false)));
  }
}

Json export_to_json(const ExportedSplit& split) {
  Json renamed = Json::array();
  for (const auto& [record, path] : split.renamed) {
    renamed.push_back({{"record", record}, {"file", path}});
  }
  Json notes = Json::array();
  for (const ExportNote& note : split.notes) notes.push_back(note.text(/*is_whole=*/true));
  return {{"split", split.split},
          {"num_records", split.num_records},
          {"num_files", split.num_files},
          {"num_bytes", split.num_bytes},
          {"num_skipped", split.num_skipped},
          {"renamed", renamed},
          {"notes", notes}};
}

// The command that makes a data set of the files again, in the same order; empty for forms whose
// sources have the order of names.
std::string way_back(const ExportOptions& options, const Exported& exported) {
  const ExportForm form = from_name<ExportForm>(options.form);
  const bool is_of_files = form == ExportForm::files || form == ExportForm::imagefolder;
  // Of splits with other classes, one call makes other labels.
  const bool has_classes = exported.class_files == std::vector<std::string>{"classes.txt"};
  if (is_of_files && !has_classes) return "";
  std::set<std::string> needed;
  if (!is_of_files) needed.insert("--order sequential");
  for (const ExportedSplit& split : exported.splits) {
    needed.insert(split.way_back.begin(), split.way_back.end());
  }
  for (const std::string& file : exported.class_files) {
    if (file == "classes.txt") {
      const std::filesystem::path path = std::filesystem::path(options.destination) / file;
      needed.insert("--classes " + shell_word(path.string()));
    }
  }
  return fmt::format("ffconvert {} {} DST {}", is_of_files ? "folder" : options.form,
                     shell_word(options.destination), fmt::join(needed, " "));
}

void print_whole(const ExportOptions& options, const Exported& exported) {
  for (const ExportedSplit& split : exported.splits) print_export(split, options.destination);
  for (const std::string& file : exported.class_files) {
    fmt::print("classes: {}\n", (std::filesystem::path(options.destination) / file).string());
  }
  for (const std::string& note : exported.notes) fmt::print("{}\n", escaped(note));
  const std::string back = way_back(options, exported);
  if (!back.empty()) fmt::print("to convert it again: {}\n", back);
}

Json whole_to_json(const ExportOptions& options, const Exported& exported) {
  Json splits = Json::array();
  for (const ExportedSplit& split : exported.splits) splits.push_back(export_to_json(split));
  const std::string back = way_back(options, exported);
  return {{"output", options.destination},
          {"form", options.form},
          {"class_files", exported.class_files},
          {"notes", exported.notes},
          {"way_back", back.empty() ? Json(nullptr) : Json(back)},
          {"splits", splits}};
}

// Writes the tree of a packed folder, empty folders included, into `destination`, which must not
// exist or be an empty folder.
void export_packed(const Target& target, const std::string& destination) {
  const PackedFolder folder(target.path, target.reader);
  int64_t num_bytes = 0;
  make_tree(destination, [&](const std::filesystem::path& out) {
    for (const std::string& name : folder.folders()) make_folder(out / name);
    std::vector<std::byte> content;
    for (size_t i = 0; i < folder.files().size(); ++i) {
      throw_if_stopped();
      folder.read(i, content);
      write_new_file(out / folder.files()[i].path, content);
      num_bytes += std::ssize(content);
    }
  });
  if (target.json) {
    print_json({{"output", destination},
                {"num_files", folder.files().size()},
                {"num_folders", folder.folders().size()},
                {"num_bytes", num_bytes}});
  } else {
    fmt::print("{} files in {} folders to {}, {}\n", with_commas(std::ssize(folder.files())),
               with_commas(std::ssize(folder.folders())), destination, human_bytes(num_bytes));
  }
}

int export_tree(const ExportOptions& options) {
  catch_stop_signals();
  const ExportChoice choice = {from_name<ExportForm>(options.form), options.shard_bytes,
                               names_in_list(options.fields)};
  if (is_packed(options.target)) {
    if (choice.form != ExportForm::files || choice.shard_bytes > 0 || !choice.fields.empty()) {
      throw error_at(options.target.path, ErrorCode::invalid_argument,
                     "is a packed folder, and its files are exported unchanged; leave out --as, "
                     "--shard-size and --fields");
    }
    export_packed(options.target, options.destination);
    return 0;
  }
  const Exported exported = export_splits(open_splits(options.target), options.destination, choice);
  if (options.target.json) {
    print_json(whole_to_json(options, exported));
  } else {
    print_whole(options, exported);
  }
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = add_command(
      app, "export", "Writes the data set in another form: files in folders, WebDataset or MDS",
      options->target, kExportFooter);
  command
      ->add_option("OUT", options->destination,
                   "Folder for the files. It must be empty, or must not exist")
      ->required()
      ->option_text(" ");
  command
      ->add_option("--as", options->form,
                   "Form of the output: files, imagefolder, webdataset or mds. The text below "
                   "explains these forms")
      ->check(CLI::IsMember(names_of<ExportForm>()))
      ->option_text("FORM=files");
  command
      ->add_option("--shard-size", options->shard_bytes,
                   "Size of a full tar file or MDS shard. The default is 256M for webdataset and "
                   "64M for mds, because mds keeps a whole shard in memory")
      ->transform(size_in_bytes())
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->option_text("SIZE");
  command
      ->add_option("--fields", options->fields,
                   "Writes only these fields, in this order, for example image,label,id")
      ->option_text("NAME,...");
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return export_tree(*options); }; });
}

}  // namespace ffkit
