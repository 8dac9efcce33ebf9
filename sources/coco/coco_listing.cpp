#include "coco/coco_listing.h"

#include <algorithm>

#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "format/dataset/manifest_text.h"

namespace ffkit {
namespace {

constexpr const char* kInstances = "instances_";
constexpr const char* kKeypoints = "person_keypoints_";
constexpr const char* kPanoptic = "panoptic_";
// As Roboflow exports it: train/_annotations.coco.json with the pictures beside it, valid/...,
// test/...
constexpr const char* kBesidePictures = "_annotations.coco.json";

// The splits of the files annotations/<prefix><split>.json, sorted.
std::vector<std::string> splits_of_annotations(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> splits;
  std::error_code none;
  for (const FolderEntry& entry : FolderEntries(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && entry.path().extension() == ".json") {
      splits.push_back(entry.path().stem().string().substr(prefix.size()));
    }
  }
  if (none && none != std::errc::no_such_file_or_directory) {
    throw source_io_error(folder, "cannot be listed", none.value());
  }
  std::ranges::sort(splits);
  return splits;
}

// What the user means: below the data set's folder, or as it is.
fs::path found_at(const fs::path& path, const fs::path& given) {
  return exists_at(path / given) ? path / given : given;
}

// The split called `written` by its file or folder, under the name that the trainer looks for:
// "val" of "valid".
std::string split_as_called(const std::string& written, const fs::path& annotations,
                            std::vector<std::string>& notes) {
  std::string name = split_called(written);
  if (name.empty() || name == written) return written;
  add_note(notes, annotations.string(), "'{}' is taken as the split '{}'", written, name);
  return name;
}

fs::path panoptic_folder(const fs::path& folder) {
  refuse_dangling_link(folder);
  if (is_folder_at(folder)) return folder;
  throw source_error(folder, ErrorCode::not_found,
                     "there is no such folder of panoptic PNGs; unpack the PNGs there");
}

CocoListing given_files(const fs::path& path, const CocoOptions& options,
                        std::vector<std::string>& notes) {
  if (options.annotations.empty() || options.images.empty()) {
    throw source_error(path, ErrorCode::invalid_argument,
                       option_name("annotations") + " and " + option_name("images") +
                           " must be given together; give both options");
  }
  std::string split = options.annotations.stem().string();
  for (const std::string prefix : {kInstances, kKeypoints, kPanoptic}) {
    if (split.starts_with(prefix)) split.erase(0, prefix.size());
  }
  CocoListing listing{
      split, found_at(path, options.annotations), found_at(path, options.images), {}};
  if (!options.panoptic.empty()) {
    listing.panoptic = panoptic_folder(found_at(path, options.panoptic));
  }
  if (options.annotations.filename() == kBesidePictures) {
    listing.split = fs::absolute(listing.annotations).parent_path().filename().string();
  }
  listing.split = split_as_called(listing.split, listing.annotations, notes);
  if (!is_folder_at(listing.images)) {
    throw source_error(listing.images, ErrorCode::not_found, "there is no such folder of pictures");
  }
  return listing;
}

std::vector<CocoListing> listings_of_annotations(const fs::path& path, const CocoOptions& options,
                                                 std::vector<std::string>& notes) {
  const bool is_panoptic = !options.panoptic.empty();
  const fs::path folder = is_panoptic ? found_at(path, options.panoptic) : path / "annotations";
  refuse_dangling_link(folder);
  std::string prefix = is_panoptic ? kPanoptic : options.keypoints ? kKeypoints : kInstances;
  std::vector<std::string> splits = splits_of_annotations(folder, prefix);
  if (splits.empty() && is_panoptic) {
    throw source_error(folder, ErrorCode::not_found,
                       "the folder has no file panoptic_<split>.json; give the folder with this "
                       "file, or name the file with {}",
                       option_name("annotations"));
  }
  if (splits.empty() && !options.keypoints) {
    prefix = kKeypoints;
    splits = splits_of_annotations(folder, prefix);
  }
  std::vector<CocoListing> listings;
  for (const std::string& split : splits) {
    const fs::path annotations = folder / (prefix + split + ".json");
    if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
      throw source_error(annotations, ErrorCode::invalid_argument,
                         "belongs to split '{}', but this name {}; rename the file", split, fault);
    }
    fs::path images;
    for (const fs::path& candidate : {path / split, path / "images" / split, path / "images"}) {
      if (!images.empty()) continue;
      refuse_dangling_link(candidate);
      if (is_folder_at(candidate)) images = candidate;
    }
    if (images.empty()) {
      add_note(notes, annotations.string(),
               "there is no folder '{}' or 'images/{}' with the pictures of this file; ffkit "
               "leaves this split out",
               split, split);
      continue;
    }
    listings.push_back({split_as_called(split, annotations, notes), annotations, images,
                        is_panoptic ? panoptic_folder(folder / (prefix + split)) : fs::path()});
  }
  if (listings.empty() && !splits.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "there are annotations of the split '{0}', but there is no folder '{0}' or "
                       "'images/{0}' with the pictures; add this folder",
                       splits.front());
  }
  return listings;
}

// In the folders of `path`, sorted; in `path` itself where no folder has one. `bare` gets the
// folders, and links to nothing, that are called as a split and have none.
std::vector<fs::path> files_beside_pictures(const fs::path& path, std::vector<fs::path>& bare) {
  std::vector<fs::path> found;
  for (const FolderEntry& entry : FolderEntries(path)) {
    std::error_code none;
    if (exists_at(entry.path() / kBesidePictures, none)) {
      found.push_back(entry.path() / kBesidePictures);
    } else if (!split_called(entry.path().filename().string()).empty() &&
               (entry.is_directory(none) || !dangling_link(entry.path()).empty())) {
      bare.push_back(entry.path());
    }
  }
  std::ranges::sort(found);
  std::ranges::sort(bare);
  if (found.empty() && exists_at(path / kBesidePictures)) found = {path / kBesidePictures};
  return found;
}

std::vector<CocoListing> listings_beside_pictures(const fs::path& path,
                                                  const std::vector<fs::path>& files,
                                                  std::vector<std::string>& notes) {
  std::vector<CocoListing> listings;
  for (const fs::path& annotations : files) {
    const fs::path images = annotations.parent_path();
    const std::string folder = fs::absolute(images).lexically_normal().filename().string();
    if (const bool is_split = !split_called(folder).empty(); is_split) {
      listings.push_back({split_as_called(folder, annotations, notes), annotations, images, {}});
    } else if (images == path) {
      add_note(notes, annotations.string(),
               "is taken as the split 'train', because its folder's name is not a split");
      listings.push_back({"train", annotations, images, {}});
    } else {
      add_note(notes, annotations.string(),
               "is left out, because its folder's name is not a split; name it with {} and {}",
               option_name("annotations"), option_name("images"));
    }
  }
  return listings;
}

void require_different_splits(const std::vector<CocoListing>& listings) {
  for (size_t i = 0; i < listings.size(); ++i) {
    const auto same = std::ranges::find(listings.begin() + static_cast<ptrdiff_t>(i) + 1,
                                        listings.end(), listings[i].split, &CocoListing::split);
    if (same == listings.end()) continue;
    throw source_error(same->annotations, ErrorCode::invalid_argument,
                       "this file belongs to the split '{}', and so does '{}'; convert the two "
                       "files separately, with {}",
                       same->split, listings[i].annotations.string(), option_name("annotations"));
  }
}

bool is_inside(const std::string& file_name) {
  const fs::path name(file_name);
  const bool has_end = file_name.find('\0') != std::string::npos;  // as open(2) sees it
  return !name.empty() && !name.is_absolute() && !has_end &&
         std::ranges::find(name, "..") == name.end();
}

}  // namespace

std::vector<CocoListing> list_coco(const fs::path& path, const CocoOptions& options,
                                   std::vector<std::string>& notes) {
  require_source_folder(path);
  if (!options.annotations.empty() || !options.images.empty())
    return {given_files(path, options, notes)};
  std::vector<CocoListing> listings = listings_of_annotations(path, options, notes);
  std::vector<fs::path> bare;
  const std::vector<fs::path> beside = files_beside_pictures(path, bare);
  if (listings.empty()) {
    listings = listings_beside_pictures(path, beside, notes);
    for (const fs::path& folder : bare) {
      refuse_dangling_link(folder);
      add_note(notes, folder.string(), "the folder has no {}, so ffkit leaves this folder out",
               kBesidePictures);
    }
  } else if (!beside.empty()) {
    add_note(notes, beside.front().string(), "ffkit does not read this file, because {} exists",
             listings.front().annotations.string());
  }
  if (listings.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "the folder contains neither annotations/{}<split>.json nor <split>/{}; "
                       "name the files with {} and {}",
                       options.keypoints ? kKeypoints : kInstances, kBesidePictures,
                       option_name("annotations"), option_name("images"));
  }
  require_different_splits(listings);
  return listings;
}

void require_safe_name(int64_t picture_id, const std::string& file_name,
                       const fs::path& annotations) {
  if (is_inside(file_name)) return;
  throw source_error(annotations, ErrorCode::unsupported,
                     "the picture with the id {} has the file name '{}', which is a path outside "
                     "the folder of pictures",
                     picture_id, file_name);
}

void require_safe_names(const CocoFile& file, const fs::path& annotations) {
  for (const CocoPicture& picture : file.pictures) {
    require_safe_name(picture.id, picture.file_name, annotations);
  }
  for (const std::string& name : file.panoptic_names) {
    if (name.empty() || is_inside(name)) continue;
    throw source_error(annotations, ErrorCode::unsupported,
                       "the panoptic PNG '{}' has a path outside the folder of the PNGs", name);
  }
}

std::vector<FileStamp> look_at_pictures(const fs::path& folder,
                                        std::vector<CocoPicture>& pictures) {
  std::vector<FileStamp> stamps(pictures.size(), {.num_bytes = -1});
  parallel_io(pictures.size(), [&](size_t i) {
    const auto look = [&](const std::string& name) {
      std::error_code none;
      const FileStamp stamp = stamp_of(folder / name, none);
      if (!none) stamps[i] = stamp;
      return !none;
    };
    std::string& name = pictures[i].file_name;
    const size_t slash = pictures[i].is_of_url ? name.rfind('/') : std::string::npos;
    if (slash == std::string::npos) {
      look(name);
    } else if (std::string last = name.substr(slash + 1); look(last) || !look(name)) {
      name = std::move(last);
    }
  });
  return stamps;
}

std::vector<FileStamp> look_at_files(const fs::path& folder, std::span<const std::string> names) {
  std::vector<FileStamp> stamps(names.size(), {.num_bytes = -1});
  parallel_io(names.size(), [&](size_t i) {
    std::error_code none;
    if (names[i].empty()) return;
    const FileStamp stamp = stamp_of(folder / names[i], none);
    if (!none) stamps[i] = stamp;
  });
  return stamps;
}

void say_missing(const fs::path& folder, const std::vector<std::string>& missing, size_t num_all,
                 const char* noun, const CocoListing& places, bool is_note,
                 std::vector<std::string>& notes) {
  if (missing.empty()) return;
  const std::string what =
      fmt::format("{} of the {} {} that '{}' lists are missing: {}{}", missing.size(), num_all,
                  noun, places.annotations.string(),
                  fmt::join(std::span(missing).first(std::min<size_t>(missing.size(), 3)), ", "),
                  missing.size() > 3 ? ", ..." : "");
  if (!is_note) {
    throw source_error(
        folder, ErrorCode::not_found,
        what + "; add the missing files, or leave them out with " + option_on("allow_missing"));
  }
  add_note(notes, folder.string(), "{}; ffkit leaves these files out", what);
}

std::vector<size_t> pictures_that_are_there(const CocoListing& places, const CocoFile& file,
                                            std::span<const FileStamp> pictures,
                                            std::span<const FileStamp> panoptic, bool allow_missing,
                                            std::vector<std::string>& notes) {
  std::vector<size_t> taken;
  std::vector<std::string> missing;
  std::vector<std::string> missing_pngs;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (pictures[i].num_bytes < 0) {
      missing.push_back(file.pictures[i].file_name);
    } else if (!panoptic.empty() && panoptic[i].num_bytes < 0) {
      missing_pngs.push_back(file.panoptic_names[i].empty()
                                 ? "the PNG of " + file.pictures[i].file_name
                                 : file.panoptic_names[i]);
    } else {
      taken.push_back(i);
    }
  }
  const bool is_note = allow_missing && !taken.empty();
  say_missing(places.images, missing, pictures.size(), "pictures", places, is_note, notes);
  say_missing(places.panoptic, missing_pngs, pictures.size(), "panoptic PNGs", places, is_note,
              notes);
  return taken;
}

}  // namespace ffkit
