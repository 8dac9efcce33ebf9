#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include <ffkit/base/option_names.h>

#include "converter/input/dangling_link.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pairs/pairs_listing.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct KnownFolder {
  const char* field;
  const char* folder;
  const char* suffix;
};

struct KnownLayout {
  const char* name;
  std::array<KnownFolder, 2> folders;
  const char* lists;  // a folder of lists, of which train and val are taken; empty: none
};

constexpr std::array kLayouts = {
    KnownLayout{"ade20k", {{{"image", "images", ""}, {"mask", "annotations", ""}}}, ""},
    KnownLayout{
        "cityscapes",
        {{{"image", "leftImg8bit", "_leftImg8bit"}, {"mask", "gtFine", "_gtFine_labelIds"}}},
        ""},
    KnownLayout{"voc",
                {{{"image", "JPEGImages", ""}, {"mask", "SegmentationClass", ""}}},
                "ImageSets/Segmentation"}};

// The field with the names of the records.
constexpr const char* kNameField = "id";

// Null where there is none.
const KnownLayout* known_layout(const std::string& name) {
  const auto found = std::ranges::find_if(
      kLayouts, [&name](const KnownLayout& layout) { return layout.name == name; });
  return found == kLayouts.end() ? nullptr : &*found;
}

// Those of the layout, then those that are given; without their paths being looked for.
std::vector<PairsFolder> named_folders(const PairsOptions& options) {
  std::vector<PairsFolder> folders;
  if (const KnownLayout* layout = known_layout(options.layout)) {
    for (const auto& [field, folder, suffix] : layout->folders) {
      folders.push_back({field, folder, suffix});
    }
  }
  for (const auto& [field, folder] : options.folders) {
    const auto found = std::ranges::find(folders, field, &PairsFolder::field);
    if (found == folders.end()) {
      folders.push_back({field, folder, {}});
    } else {
      found->path = folder;
    }
  }
  for (PairsFolder& folder : folders) {
    const auto given = options.suffixes.find(folder.field);
    if (given != options.suffixes.end()) folder.suffix = given->second;
  }
  return folders;
}

void require_field(const char* option, const std::vector<PairsFolder>& folders,
                   const std::string& field) {
  std::vector<std::string> fields;
  fields.reserve(folders.size());
  for (const PairsFolder& folder : folders) fields.push_back(folder.field);
  if (std::ranges::find(fields, field) != fields.end()) return;
  throw argument_error(option, fmt::format("{}: there is no field '{}'; there are {}",
                                           option_name(option), field, fmt::join(fields, ", ")));
}

fs::path found_folder(const PairsOptions& options, const PairsFolder& folder) {
  fs::path below = options.root / folder.path;
  refuse_dangling_link(below);
  std::error_code none;
  if (is_folder_at(below, none)) return below;
  const bool is_given = std::ranges::find(options.folders, folder.field, &PairedFolder::field) !=
                        options.folders.end();
  if (is_given && !exists_at(below, none)) {
    refuse_dangling_link(folder.path);
    if (is_folder_at(folder.path, none)) return folder.path;
  }
  if (exists_at(below, none)) {
    throw source_error(below, ErrorCode::not_found,
                       "is no folder; give the one that holds the files of '{}'", folder.field);
  }
  throw source_error(below, ErrorCode::not_found,
                     "there is no such folder, which '{}' should be in; give another one with {}",
                     folder.field, option_name("folders"));
}

// The lists of the layout: of the splits that are wanted, else train and val.
std::vector<fs::path> lists_of_layout(const PairsOptions& options, const fs::path& folder) {
  std::vector<fs::path> lists;
  const std::vector<std::string> usual = {"train", "val"};
  for (const std::string& name : options.splits.empty() ? usual : options.splits) {
    const fs::path list = folder / (name + ".txt");
    std::error_code none;
    if (exists_at(list, none) || !dangling_link(list).empty()) {
      lists.push_back(list);
    } else if (!options.splits.empty()) {
      throw source_error(list, ErrorCode::not_found,
                         "there is no such list, for the split '{}'; name another one with {}",
                         name, option_name("splits"));
    }
  }
  if (lists.empty()) {
    throw source_error(folder, ErrorCode::not_found,
                       "holds neither train.txt nor val.txt; name another list with {}",
                       option_name("list"));
  }
  return lists;
}

}  // namespace

std::vector<std::string> pair_layouts() {
  std::vector<std::string> names;
  names.reserve(std::size(kLayouts));
  for (const KnownLayout& layout : kLayouts) names.emplace_back(layout.name);
  return names;
}

void validate(const PairsOptions& options) {
  if (!options.layout.empty()) {
    require_names("layout", {options.layout}, pair_layouts());
    if (options.root.empty()) {
      throw argument_error("root",
                           fmt::format("{} needs {}, the folder of the data set",
                                       option_set("layout", options.layout), option_name("root")));
    }
  }
  require_different("splits", options.splits);
  require_different("panoptic", options.panoptic);
  std::vector<std::string> given;
  for (const PairedFolder& folder : options.folders) given.push_back(folder.field);
  require_different("folders", given);
  const std::vector<PairsFolder> folders = named_folders(options);
  for (const PairsFolder& folder : folders) {
    if (folder.field != kNameField && !folder.field.empty()) continue;
    throw argument_error(
        "folders",
        folder.field.empty()
            ? fmt::format("{}: a field has no name", option_name("folders"))
            : fmt::format("{}: '{}' is the field with the names of the records; call the "
                          "folder's otherwise",
                          option_name("folders"), kNameField));
  }
  for (const PairedFolder& folder : options.folders) {
    if (!folder.folder.empty()) continue;
    throw argument_error(
        "folders", fmt::format("{}: '{}' has no folder", option_name("folders"), folder.field));
  }
  if (folders.size() < 2) {
    throw argument_error("folders",
                         fmt::format("{}: give at least two, the pictures and their masks, such as "
                                     "image=FOLDER and mask=FOLDER",
                                     option_name("folders")));
  }
  for (const auto& [field, suffix] : options.suffixes) require_field("suffix", folders, field);
  for (const std::string& field : options.panoptic) {
    require_field("panoptic", folders, field);
    if (field != folders.front().field) continue;
    throw argument_error("panoptic", fmt::format("{}: '{}' has the pictures; name a field of masks",
                                                 option_name("panoptic"), field));
  }
}

PairsLayout find_pairs_layout(const PairsOptions& options) {
  validate(options);
  PairsLayout layout{.folders = named_folders(options), .lists = options.lists};
  for (PairsFolder& folder : layout.folders) folder.path = found_folder(options, folder);
  for (fs::path& list : layout.lists) {
    std::error_code none;
    if (!options.root.empty() && exists_at(options.root / list, none)) list = options.root / list;
  }
  const KnownLayout* known = known_layout(options.layout);
  if (layout.lists.empty() && known != nullptr && *known->lists != '\0') {
    layout.lists = lists_of_layout(options, options.root / known->lists);
    layout.is_chosen = true;
  }
  return layout;
}

}  // namespace ffkit
