#include "folder/labelled_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "folder/folder_layout.h"
#include "folder/label_list.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

struct ListPlace {
  std::string split;
  fs::path file;
  std::string folder;    // of its pictures, below the source: "train/"; empty: anywhere
  bool is_said = false;  // by the user, which split it is
};

// The split that a word of a file's name is: "train" of "images_variant_train.txt".
std::string split_of_list(const std::string& stem) {
  std::string found;
  for (size_t begin = 0; begin <= stem.size();) {
    const size_t end = std::min(stem.find_first_of("_-. ", begin), stem.size());
    if (std::string split = split_called(stem.substr(begin, end - begin)); !split.empty()) {
      found = std::move(split);
    }
    begin = end + 1;
  }
  // DTD's train1.txt is the first of ten such lists; train2017 is a split.
  const size_t digits = found.size() - std::min(found.find_first_of("0123456789"), found.size());
  if (digits <= 2) found.resize(found.size() - digits);
  return found.empty() ? "train" : found;
}

std::vector<ListPlace> places_of(const ImageFolderOptions& options, const fs::path& root) {
  std::vector<ListPlace> places;
  for (const std::string& given : options.labels) {
    const size_t equals = given.find('=');
    const bool has_split = equals != std::string::npos && !exists_at(root / given);
    const fs::path file = has_split ? given.substr(equals + 1) : given;
    const std::string split =
        has_split ? given.substr(0, equals) : split_of_list(file.stem().string());
    if (exists_at(root / file)) {
      places.push_back({split, root / file, "", has_split});
      continue;
    }
    if (exists_at(file)) {
      places.push_back({split, file, "", has_split});
      continue;
    }
    const size_t before = places.size();
    for (const std::string& folder : list_folders(root)) {
      if (split_called(folder).empty() || !exists_at(root / folder / file)) continue;
      places.push_back({split_called(folder), root / folder / file, folder + "/"});
    }
    if (places.size() == before) {
      throw source_error(
          root / file, ErrorCode::not_found,
          "there is no such list, and the folders of the splits contain no such list");
    }
  }
  std::ranges::stable_sort(places, {}, &ListPlace::split);
  const auto same = std::ranges::adjacent_find(places, {}, &ListPlace::split);
  if (same != places.end()) {
    throw source_error(
        std::next(same)->file, ErrorCode::invalid_argument,
        "this list would be the split '{}', and so would '{}'; name the split of each list with {}",
        same->split, same->file.string(), option_set("labels", "train=FILE,val=FILE"));
  }
  return places;
}

// Pictures by the ends of their paths.
class Pictures {
 public:
  Pictures(std::vector<ImageEntry> entries, const fs::path& root)
      : entries_(std::move(entries)), root_(root.string() + "/") {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const fs::path name = fs::path(entries_[i].id).filename();
      by_name_.emplace(name.string(), i);
      if (name.has_extension()) by_name_.emplace(name.stem().string(), i);
    }
  }

  const ImageEntry& entry(size_t i) const { return entries_[i]; }
  size_t size() const { return entries_.size(); }

  // Nothing where there is none.
  std::optional<size_t> find(std::string name, const ListPlace& place) const {
    // Some lists are written on Windows.
    if (by_name_.count(name.substr(name.rfind('/') + 1)) == 0)
      std::ranges::replace(name, '\\', '/');
    if (name.starts_with(root_)) name.erase(0, root_.size());
    if (name.size() > 2 && name[1] == ':' && name[2] == '/') name.erase(0, 2);  // a drive
    const bool is_absolute = name.starts_with('/');
    while (name.starts_with('/') || name.starts_with("./") || name.starts_with("../")) {
      name.erase(0, name.find('/') + 1);
    }
    std::vector<size_t> found;
    const auto [begin, end] = by_name_.equal_range(name.substr(name.rfind('/') + 1));
    for (auto at = begin; at != end; ++at) {
      const std::string& id = entries_[at->second].id;
      if (!id.starts_with(place.folder)) continue;
      const std::string without = fs::path(id).replace_extension().string();
      if (id == name || id == place.folder + name || without == place.folder + name) {
        return at->second;
      }
      // An absolute name is of where the pictures were when the list was written.
      const bool is_moved = is_absolute && id.find('/') != id.npos && name.ends_with("/" + id);
      if (is_moved || id.ends_with("/" + name) || without.ends_with("/" + name)) {
        found.push_back(at->second);
      }
    }
    // Of 1.jpg in train/ and in test/, the one of the list's split.
    if (found.size() > 1) {
      std::erase_if(found, [&](size_t i) {
        const std::string& id = entries_[i].id;
        return split_called(id.substr(0, id.find('/'))) != place.split;
      });
      if (found.size() != 1) {
        throw source_error(place.file, ErrorCode::invalid_argument,
                           "several pictures have the name '{}'; write the path of each picture, "
                           "relative to the source, into the list",
                           printable(name));
      }
    }
    return found.empty() ? std::nullopt : std::optional(found.front());
  }

 private:
  const std::vector<ImageEntry> entries_;
  const std::string root_;
  std::unordered_multimap<std::string, size_t> by_name_;  // file names, and without endings
};

class LabelledSplits {
 public:
  LabelledSplits(const ImageFolderOptions& options, ImageSet& set)
      : options_(options),
        set_(set),
        places_(places_of(options, set.path)),
        pictures_(list_pictures(), set.path) {}

  void add() {
    std::vector<std::vector<NamedLabels>> lists;
    std::vector<NamedLabels> all;
    std::vector<std::string> columns;
    set_.is_multi_label = options_.multi_label;
    for (const ListPlace& place : places_) {
      LabelList list = read_label_list(place.file,
                                       {.name = options_.name_column,
                                        .label = options_.label_column,
                                        .is_multi = options_.multi_label,
                                        .has_split = place.is_said},
                                       set_.notes);
      if (list.classes.empty()) label_by_folders(place, list.lines);
      for (const NamedLabels& line : list.lines) {
        set_.is_multi_label |= !list.classes.empty() && line.labels.size() != 1;
      }
      if (columns.empty()) columns = std::move(list.classes);
      lists.push_back(std::move(list.lines));
      all.insert(all.end(), lists.back().begin(), lists.back().end());
    }
    if (set_.classes.empty()) set_.classes = columns.empty() ? classes_of_labels(all) : columns;
    for (size_t i = 0; i < set_.classes.size(); ++i) {
      label_of_.emplace(set_.classes[i], static_cast<int64_t>(i));
    }
    std::vector<bool> is_named(pictures_.size());
    for (size_t i = 0; i < places_.size(); ++i) add_split(places_[i], lists[i], is_named);
    const auto num_others = std::ranges::count(is_named, false);
    if (num_others > 0) {
      add_note(set_.notes, set_.path.string(), "{} {} left out: no list names {}", num_others,
               num_others == 1 ? "picture was" : "pictures were", num_others == 1 ? "it" : "them");
    }
  }

 private:
  std::vector<ImageEntry> list_pictures() {
    ImageListing listing = list_tree(set_.path);
    const std::string below = set_.path.string() + "/";
    listing.num_ignored -= std::ranges::count_if(places_, [&](const ListPlace& place) {
      return place.file.string().starts_with(below);  // a list is read
    });
    note_ignored(listing, set_.path, set_.notes);
    return std::move(listing.entries);
  }

  // A list of names alone: the label is the folder that a picture lies in.
  void label_by_folders(const ListPlace& place, std::vector<NamedLabels>& list) const {
    const bool has_labels =
        std::ranges::any_of(list, [](const NamedLabels& line) { return !line.labels.empty(); });
    if (has_labels) return;
    for (NamedLabels& line : list) {
      const std::optional<size_t> found = pictures_.find(line.name, place);
      if (!found) continue;
      const std::string folder =
          fs::path(pictures_.entry(*found).id).parent_path().filename().string();
      if (!folder.empty() && split_called(folder).empty()) line.labels.push_back(folder);
    }
  }

  int64_t label_of(const ListPlace& place, const NamedLabels& line,
                   const std::string& label) const {
    const auto found = label_of_.find(label);
    if (found != label_of_.end()) return found->second;
    // A number where the list of classes has names.
    const std::optional<int64_t> number = whole_number_of(label);
    if (number && *number >= 0 && *number < std::ssize(set_.classes)) return *number;
    throw source_error(place.file, ErrorCode::invalid_argument,
                       "the picture '{}' has the label '{}', which is not one of the {} classes",
                       printable(line.name), printable(label), set_.classes.size());
  }

  void add_split(const ListPlace& place, const std::vector<NamedLabels>& list,
                 std::vector<bool>& is_named) {
    ImageSplit split{
        .name = place.split, .is_training = place.split.starts_with("train"), .path = set_.path};
    std::vector<std::string> missing;
    std::map<size_t, const NamedLabels*> lines;
    int64_t num_bare = 0;
    for (const NamedLabels& line : list) {
      const std::optional<size_t> found = pictures_.find(line.name, place);
      if (!found) {
        missing.push_back(line.name);
        continue;
      }
      is_named[*found] = true;
      const NamedLabels& other = *lines.emplace(*found, &line).first->second;
      if (&other != &line && other.labels == line.labels) continue;
      if (&other != &line) {
        throw source_error(place.file, ErrorCode::invalid_argument,
                           "'{}' and '{}' are the same picture, but have different labels; remove "
                           "one of the two lines",
                           printable(other.name), printable(line.name));
      }
      ImageEntry entry = pictures_.entry(*found);
      std::vector<int64_t> labels;
      for (const std::string& label : line.labels) labels.push_back(label_of(place, line, label));
      if (labels.empty()) ++num_bare;
      entry.label = labels.empty() ? ImageEntry::kNoLabel : labels.front();
      if (set_.is_multi_label) split.labels.emplace(entry.id, std::move(labels));
      split.entries.push_back(std::move(entry));
    }
    say_missing(place, missing, list.size());
    if (num_bare > 0) {
      add_note(set_.notes, place.file.string(), "{} of {} pictures have no label{}", num_bare,
               split.entries.size(), set_.is_multi_label ? "" : " (-1)");
    }
    std::ranges::sort(split.entries, {}, &ImageEntry::id);
    add_note(set_.notes, place.file.string(), "the labels of '{}': {} pictures of {} classes, {}",
             place.split, split.entries.size(), set_.classes.size(), some_names(set_.classes));
    set_.splits.push_back(std::move(split));
  }

  void say_missing(const ListPlace& place, const std::vector<std::string>& missing,
                   size_t num_all) {
    if (missing.empty()) return;
    const std::string what =
        fmt::format("{} of the {} names in this list have no picture in '{}': {}", missing.size(),
                    num_all, set_.path.string(), some_names(missing));
    if (!options_.allow_missing || missing.size() == num_all) {
      throw source_error(place.file, ErrorCode::not_found,
                         "{}; add the missing files, or leave them out with {}", what,
                         option_on("allow_missing"));
    }
    add_note(set_.notes, place.file.string(), "{}; ffkit leaves these files out", what);
  }

  const ImageFolderOptions& options_;
  ImageSet& set_;
  const std::vector<ListPlace> places_;
  const Pictures pictures_;
  std::map<std::string, int64_t> label_of_;
};

}  // namespace

void add_labelled_splits(const ImageFolderOptions& options, ImageSet& set) {
  LabelledSplits(options, set).add();
}

}  // namespace ffkit
