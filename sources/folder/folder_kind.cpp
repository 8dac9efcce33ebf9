#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/folder.h>

#include "converter/input/dangling_link.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "folder/folder_layout.h"
#include "pictures/image_source.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// tiny-imagenet's: the pictures of val and test lie in one folder of this name.
constexpr const char* kOneFolder = "images";
constexpr const char* kValAnnotations = "val_annotations.txt";

bool has_one_folder(const FolderSplit& split) {
  return split.classes == std::vector<std::string>{kOneFolder};
}

bool is_annotated(const FolderSplit& split) {
  return has_one_folder(split) && exists_at(split.path / kValAnnotations);
}

bool is_unlabelled(const FolderSplit& split) {
  return split.is_test && (split.classes.empty() || has_one_folder(split));
}

// Whether its folders are classes.
bool has_classes(const FolderSplit& split) {
  return !is_unlabelled(split) && !is_annotated(split);
}

// Sorted. `training_alone`: those of the training splits.
std::vector<std::string> classes_of(const std::vector<FolderSplit>& splits, bool training_alone) {
  std::set<std::string> classes;
  for (const FolderSplit& split : splits) {
    if (!has_classes(split) || (training_alone && !split.is_training)) continue;
    classes.insert(split.classes.begin(), split.classes.end());
  }
  return {classes.begin(), classes.end()};
}

// The label of `name`, or -1.
int64_t label_of_class(const std::vector<std::string>& classes, const std::string& name) {
  const auto found = std::ranges::lower_bound(classes, name);
  return found != classes.end() && *found == name ? found - classes.begin() : -1;
}

void refuse_unknown_class(const FolderSplit& split, const std::string& name) {
  throw source_error(split.path, ErrorCode::invalid_argument,
                     "its class '{}' has no pictures in the training split, so it has no label; "
                     "take it away, leave this split out with {}, or give it a label with {}",
                     name, option_name("splits"), option_set("classes_from", "all"));
}

void label_by_folder(const FolderSplit& split, const std::vector<std::string>& classes,
                     std::vector<ImageEntry>& entries) {
  std::vector<int64_t> label_of_folder;
  for (const std::string& name : split.classes) {
    label_of_folder.push_back(label_of_class(classes, name));
    if (label_of_folder.back() < 0) refuse_unknown_class(split, name);
  }
  for (ImageEntry& entry : entries) entry.label = label_of_folder[entry.folder];
}

void label_by_annotations(const FolderSplit& split, const std::vector<std::string>& classes,
                          std::vector<ImageEntry>& entries) {
  constexpr int64_t kMaxBytes = 64 << 20;
  const fs::path file = split.path / kValAnnotations;
  const auto class_of = parse_val_annotations(read_source_text(file, kMaxBytes), file.string());
  for (ImageEntry& entry : entries) {
    const auto found = class_of.find(fs::path(entry.id).filename().string());
    if (found == class_of.end()) {
      throw source_error(split.path, ErrorCode::not_found, "'{}' is not in {}; take it away",
                         entry.id, kValAnnotations);
    }
    entry.label = label_of_class(classes, found->second);
    if (entry.label < 0) refuse_unknown_class(split, found->second);
  }
}

// A class that some splits have and this one lacks.
void note_missing_classes(const FolderSplit& split, const std::vector<std::string>& classes,
                          const std::vector<ImageEntry>& entries, std::vector<std::string>& notes) {
  std::vector<bool> is_there(classes.size(), false);
  for (const ImageEntry& entry : entries) is_there[static_cast<size_t>(entry.label)] = true;
  std::vector<std::string> missing;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (!is_there[i]) missing.push_back(classes[i]);
  }
  if (missing.empty()) return;
  notes.push_back(fmt::format("{}: no pictures of {} of the {} classes: {}", split.path.string(),
                              missing.size(), classes.size(), some_names(missing)));
}

ImageSplit read_folder_split(const FolderSplit& split, const std::vector<std::string>& classes,
                             std::vector<std::string>& notes) {
  ImageListing listing = split.classes.empty() ? list_flat_folder(split.path)
                                               : list_class_folders(split.path, split.classes);
  if (std::string note = ignored_note(listing, split.path); !note.empty()) {
    notes.push_back(std::move(note));
  }
  std::vector<ImageEntry>& entries = listing.entries;
  if (is_unlabelled(split)) {
    notes.push_back(fmt::format("{}: its pictures are in no class folders and have no labels (-1)",
                                split.path.string()));
  } else if (is_annotated(split)) {
    label_by_annotations(split, classes, entries);
    notes.push_back(fmt::format("{}: labels are from {}", split.path.string(), kValAnnotations));
  } else {
    label_by_folder(split, classes, entries);
  }
  if (!is_unlabelled(split)) note_missing_classes(split, classes, entries, notes);
  return {.name = split.name,
          .is_training = split.is_training,
          .path = split.path,
          .entries = std::move(entries)};
}

}  // namespace

std::unique_ptr<Source> open_image_folder(const fs::path& path, const ImageFolderOptions& options) {
  const PlacesListed listed;
  refuse_dangling_link(path);
  if (!is_folder_at(path)) {
    throw source_error(path, ErrorCode::not_found,
                       exists_at(path) ? "is no folder; give the one that holds the pictures"
                                       : "there is no such folder");
  }
  ImageSet set{.kind = "folder", .path = canonical_place(path), .storage = options.images};
  set.roots = {set.path};
  FolderLayout layout = find_folder_layout(set.path, options.splits);
  set.notes = std::move(layout.notes);
  const bool is_trained = std::ranges::any_of(
      layout.splits, [](const FolderSplit& split) { return split.is_training; });
  set.classes = classes_of(layout.splits, is_trained && !options.classes_from_all);
  if (!is_trained && layout.splits.size() > 1 && !options.classes_from_all) {
    set.notes.push_back(fmt::format(
        "{}: there is no training split; the classes are those of all splits", set.path.string()));
  }
  for (const FolderSplit& split : layout.splits) {
    if (!split.is_wanted) continue;
    set.splits.push_back(read_folder_split(split, set.classes, set.notes));
  }
  return make_image_source(std::move(set));
}

namespace {

class FolderKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_names("splits", options_.splits,
                   "Splits to convert, such as train or train,val; folders of other names may be "
                   "named too")
        .set_default("all that are there");
    table
        .add_words(
            "classes-from", [this] { return options_.classes_from_all ? "all" : "train"; },
            [this](const std::string& word) { options_.classes_from_all = word == "all"; },
            "train: classes are those of the training split, and another one in val is an error; "
            "all: those of all splits")
        .set_choices({"train", "all"});
  }

  void check(const OptionTable& /*table*/) const override {
    require_different("splits", options_.splits);
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    ImageFolderOptions options = options_;
    options.images = arguments.images;
    return open_image_folder(arguments.path, options);
  }

 private:
  ImageFolderOptions options_;
};

}  // namespace

SourceKind folder_kind() {
  return {.name = "folder",
          .description = "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*",
          .example = "my-pictures /fast/my-pictures",
          .options = make_source_options<FolderKind>,
          .pictures = PictureUse::all,
          .takes_exif = true,
          .place = 20};
}

}  // namespace ffkit
