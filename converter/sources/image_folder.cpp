#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "sources/pictures/image_source.h"
#include "sources/pictures/image_tree.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Names of the splits: the sub-folders, or none when those are the classes themselves.
std::vector<std::string> find_folder_splits(const fs::path& path) {
  std::vector<std::string> folders = list_folders(path);
  if (folders.empty()) {
    throw Error(ErrorCode::not_found,
                "holds no folders; expected <split>/<class>/<picture> or <class>/<picture>",
                {.path = path.string()});
  }
  const auto is_class = [&path](const std::string& name) { return holds_images(path / name); };
  const auto first_class = std::ranges::find_if(folders, is_class);
  if (first_class == folders.end()) return folders;
  const auto other = std::ranges::find_if_not(folders, [&](const std::string& name) {
    return is_class(name) || list_folders(path / name).empty();
  });
  if (other != folders.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' holds pictures and looks like a class, but '{}' holds only "
                            "folders and looks like a split; expected <split>/<class>/<picture> or "
                            "<class>/<picture>",
                            *first_class, *other),
                {.path = path.string()});
  }
  return {};
}

}  // namespace

std::unique_ptr<Source> open_image_folder(const fs::path& path, const ImageStorage& images) {
  if (!fs::is_directory(path)) {
    throw Error(ErrorCode::not_found, "there is no such folder", {.path = path.string()});
  }
  ImageSet set{.kind = "folder", .path = fs::canonical(path), .storage = images};
  set.roots = {set.path};
  const std::vector<std::string> names = find_folder_splits(set.path);
  const bool has_splits = !names.empty();
  std::set<std::string> classes;
  if (has_splits) {
    for (const std::string& name : names) {
      const auto folders = list_folders(set.path / name);
      classes.insert(folders.begin(), folders.end());
    }
  } else {
    const auto folders = list_folders(set.path);
    classes.insert(folders.begin(), folders.end());
  }
  set.classes.assign(classes.begin(), classes.end());

  const auto add_split = [&set](const std::string& name, const fs::path& folder) {
    const std::vector<std::string> folders = list_folders(folder);
    ImageListing listing = list_class_folders(folder, folders);
    for (ImageEntry& entry : listing.entries) {
      const std::string& class_name = folders[static_cast<size_t>(entry.label)];
      entry.label = std::ranges::lower_bound(set.classes, class_name) - set.classes.begin();
    }
    if (std::string note = ignored_note(listing.num_ignored, folder); !note.empty()) {
      set.notes.push_back(std::move(note));
    }
    if (listing.entries.empty()) {
      set.notes.push_back(fmt::format("{}: no pictures, no split", folder.string()));
      return;
    }
    set.splits.push_back({.name = name,
                          .is_training = name.starts_with("train"),
                          .path = folder,
                          .entries = std::move(listing.entries)});
  };
  if (!has_splits) add_split("train", set.path);
  for (const std::string& name : names) add_split(name, set.path / name);
  return make_image_source(std::move(set));
}

}  // namespace ffkit
