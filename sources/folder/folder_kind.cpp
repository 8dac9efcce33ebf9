#include <algorithm>
#include <map>
#include <set>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>
#include <ffkit/sources/folder.h>

#include "converter/input/input_file.h"
#include "converter/input/kind_options.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/text_files.h"
#include "folder/folder_layout.h"
#include "folder/label_list.h"
#include "folder/labelled_pictures.h"
#include "format/content_kind.h"
#include "pictures/image_source.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

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

// Labels by the names of classes.
class ClassLabels {
 public:
  // `are_given`: by the user.
  ClassLabels(const std::vector<std::string>& classes, bool are_given) : are_given_(are_given) {
    for (const std::string& name : classes) labels_.emplace(name, std::ssize(labels_));
  }
  bool are_given() const { return are_given_; }
  // -1: it is none of them.
  int64_t of(const std::string& name) const {
    const auto found = labels_.find(name);
    return found == labels_.end() ? -1 : found->second;
  }

 private:
  const bool are_given_;
  std::map<std::string, int64_t> labels_;
};

void refuse_unknown_class(const FolderSplit& split, const std::string& name,
                          const ClassLabels& classes) {
  if (classes.are_given()) {
    throw source_error(split.path, ErrorCode::invalid_argument,
                       "the class '{}' is not in the list of classes ({} or {}); remove the folder "
                       "of this class, or add the class at the end of the list",
                       name, option_name("classes"), option_name("classes_of"));
  }
  throw source_error(
      split.path, ErrorCode::invalid_argument,
      "the class '{}' has no pictures in the training split, so the class has no label; remove the "
      "folder of this class, leave this split out with {}, or give the class a label with {}",
      name, option_name("splits"), option_set("classes_from", "all"));
}

void label_by_folder(const FolderSplit& split, const ClassLabels& classes,
                     std::vector<ImageEntry>& entries) {
  std::vector<int64_t> label_of_folder;
  for (const std::string& name : split.classes) {
    label_of_folder.push_back(classes.of(name));
    if (label_of_folder.back() < 0) refuse_unknown_class(split, name, classes);
  }
  for (ImageEntry& entry : entries) entry.label = label_of_folder[entry.folder];
}

void label_by_annotations(const FolderSplit& split, const ClassLabels& classes,
                          std::vector<ImageEntry>& entries) {
  std::vector<std::string> none;
  std::map<std::string, std::string> class_of;
  for (const NamedLabels& line : read_label_list(split.path / kValAnnotations, {}, none).lines) {
    if (!line.labels.empty()) class_of.emplace(line.name, line.labels.front());
  }
  for (ImageEntry& entry : entries) {
    const auto found = class_of.find(fs::path(entry.id).filename().string());
    if (found == class_of.end()) {
      throw source_error(split.path, ErrorCode::not_found,
                         "the picture '{}' is not in {}; remove this picture", entry.id,
                         kValAnnotations);
    }
    entry.label = classes.of(found->second);
    if (entry.label < 0) refuse_unknown_class(split, found->second, classes);
  }
}

// As torchvision's ImageFolder: else the labels of all classes behind it would differ by one.
void refuse_unread_classes(const FolderSplit& split, const std::vector<ImageEntry>& entries) {
  std::vector<bool> is_read(split.classes.size(), false);
  std::vector<ContentKind> kind(split.classes.size(), ContentKind::unknown);
  for (const ImageEntry& entry : entries) {
    if (is_decoded_picture(entry.kind)) is_read[entry.folder] = true;
    kind[entry.folder] = entry.kind;
  }
  for (size_t i = 0; i < is_read.size(); ++i) {
    if (is_read[i]) continue;
    throw source_error(split.path, ErrorCode::unsupported,
                       "ffkit cannot read any picture of the class '{}', because one picture is "
                       "{}; {}, or remove the class",
                       split.classes[i], content_name(kind[i]), content_remedy(kind[i]));
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
  add_note(notes, split.path.string(), "has no picture of {} of the {} classes: {}", missing.size(),
           classes.size(), some_names(missing));
}

ImageSplit read_folder_split(const FolderSplit& split, const std::vector<std::string>& classes,
                             const ClassLabels& labels, std::vector<std::string>& notes) {
  ImageListing listing = split.classes.empty() ? list_flat_folder(split.path)
                                               : list_class_folders(split.path, split.classes);
  note_ignored(listing, split.path, notes);
  std::vector<ImageEntry>& entries = listing.entries;
  if (is_unlabelled(split)) {
    add_note(notes, split.path.string(),
             "its pictures are not in class folders, so they have no labels (-1)");
  } else if (is_annotated(split)) {
    label_by_annotations(split, labels, entries);
    add_note(notes, split.path.string(), "labels are from {}", kValAnnotations);
  } else {
    if (!labels.are_given()) refuse_unread_classes(split, entries);
    label_by_folder(split, labels, entries);
  }
  if (!is_unlabelled(split)) note_missing_classes(split, classes, entries, notes);
  return {.name = split.name,
          .is_training = split.is_training,
          .path = split.path,
          .entries = std::move(entries)};
}

void take_given_classes(const ImageFolderOptions& options, ImageSet& set) {
  if (!options.classes.empty()) set.classes = read_class_list(options.classes);
  if (options.classes_of.empty()) return;
  const std::vector<std::string> splits = list_splits(options.classes_of);
  if (splits.empty()) {
    throw source_error(options.classes_of, ErrorCode::not_found, "is not a data set of ffkit");
  }
  const Manifest manifest = read_manifest(options.classes_of / splits.front() / "manifest.json");
  if (manifest.classes.empty()) {
    throw source_error(options.classes_of, ErrorCode::invalid_argument,
                       "the data set has no classes");
  }
  set.classes = manifest.classes;
  set.class_names = manifest.class_names;
}

class FolderKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_names("splits", options_.splits,
                   "Splits to convert, such as train or train,val. Names of other folders are also "
                   "possible")
        .set_default("all that are there");
    table
        .add_words(
            "classes-from", [this] { return options_.classes_from_all ? "all" : "train"; },
            [this](const std::string& word) { options_.classes_from_all = word == "all"; },
            "Splits that determine the classes. With 'train', only the training split determines "
            "the classes, and a further class in another split is an error. With 'all', all splits "
            "determine the classes")
        .set_choices({"train", "all"});
    table.add("classes", options_.classes,
              "Text file with one class on each line, in the order of the labels. The class "
              "folders have these names. Some of the folders may be missing");
    table.add("classes-of", options_.classes_of,
              "Folder of an ffkit data set. The new data set gets the same classes and labels as "
              "this data set, for example for pictures that were delivered later");
    table.add_names(
        "labels", options_.labels,
        "Files with the names and labels of the pictures (CSV, TSV, JSON lines or text), if there "
        "are no class folders. Examples are train.csv,val.csv, or val=FILE for the split val");
    table
        .add("name-column", options_.name_column,
             "Column of the label files that contains the names of the pictures")
        .set_default("a column with one of these names: file_name, image_id, ...");
    table
        .add("label-column", options_.label_column,
             "Column of the label files that contains the labels")
        .set_default("a column with one of these names: label, class, ...");
    table.add(
        "multi-label", options_.multi_label,
        "Allows several labels for each picture. The labels are stored in the field 'labels'");
    table.add("allow-missing", options_.allow_missing,
              "Leaves out a name in the label files if there is no picture with this name");
  }

  void check(const OptionTable& table) const override {
    require_different("splits", options_.splits);
    if (!options_.classes.empty() && !options_.classes_of.empty()) {
      throw argument_error("classes", option_name("classes") + " and " + option_name("classes_of") +
                                          " both name the classes; give one of them");
    }
    if (options_.labels.empty()) {
      table.refuse({"name-column", "label-column", "multi-label", "allow-missing"},
                   "has no effect without " + option_name("labels") + "; leave it out");
    } else {
      table.refuse({"splits", "classes-from"},
                   "has no effect with " + option_name("labels") + "; leave it out");
    }
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    ImageFolderOptions options = set_by(options_, arguments);
    options.refuses_other_layouts = true;
    return open_image_folder(arguments.path, options);
  }

 private:
  ImageFolderOptions options_;
};

}  // namespace

std::unique_ptr<Source> open_image_folder(const fs::path& path, const ImageFolderOptions& options) {
  const PlacesListed listed;
  require_source_folder(path);
  ImageSet set{.kind = "folder", .path = canonical_place(path), .storage = options.images};
  set.roots = {set.path};
  take_given_classes(options, set);
  const bool are_given = !set.classes.empty();
  if (!options.labels.empty()) {
    add_labelled_splits(options, set);
    return make_image_source(std::move(set));
  }
  const bool refuses_others = !are_given && options.refuses_other_layouts;
  FolderLayout layout;
  try {
    layout = find_folder_layout(set.path, options.splits, are_given);
  } catch (const Error&) {
    if (refuses_others) refuse_known_layout(set.path);
    throw;
  }
  if (refuses_others) refuse_other_layouts(set.path, layout);
  set.notes = std::move(layout.notes);
  const bool is_trained = std::ranges::any_of(
      layout.splits, [](const FolderSplit& split) { return split.is_training; });
  if (!are_given) set.classes = classes_of(layout.splits, is_trained && !options.classes_from_all);
  const ClassLabels labels(set.classes, are_given);
  if (!are_given && !is_trained && layout.splits.size() > 1 && !options.classes_from_all) {
    add_note(set.notes, set.path.string(),
             "there is no training split; the classes are those of all splits");
  }
  for (const FolderSplit& split : layout.splits) {
    if (!split.is_wanted) continue;
    set.splits.push_back(read_folder_split(split, set.classes, labels, set.notes));
  }
  return make_image_source(std::move(set));
}

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
