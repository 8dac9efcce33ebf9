#include "sources/coco/coco_listing.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/format/error.h>

#include "format/dataset/split_name.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstances = "instances_";
constexpr const char* kKeypoints = "person_keypoints_";

// The splits of the files annotations/<prefix><split>.json, sorted.
std::vector<std::string> splits_of_annotations(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> splits;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && entry.path().extension() == ".json") {
      splits.push_back(entry.path().stem().string().substr(prefix.size()));
    }
  }
  if (none && none != std::errc::no_such_file_or_directory) {
    throw Error(ErrorCode::io, "cannot be listed",
                {.path = folder.string(), .errno_value = none.value()});
  }
  std::ranges::sort(splits);
  return splits;
}

// What the user means: below the data set's folder, or as it is.
fs::path found_at(const fs::path& path, const fs::path& given) {
  return fs::exists(path / given) ? path / given : given;
}

CocoListing given_files(const fs::path& path, const CocoOptions& options) {
  if (options.annotations.empty() || options.images.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--annotations FILE and --images FOLDER belong together; give both",
                {.path = path.string()});
  }
  std::string split = options.annotations.stem().string();
  for (const std::string prefix : {kInstances, kKeypoints}) {
    if (split.starts_with(prefix)) split.erase(0, prefix.size());
  }
  CocoListing listing{split, found_at(path, options.annotations), found_at(path, options.images)};
  if (!fs::is_directory(listing.images)) {
    throw Error(ErrorCode::not_found, "there is no such folder of pictures",
                {.path = listing.images.string()});
  }
  return listing;
}

}  // namespace

std::vector<CocoListing> list_coco(const fs::path& path, const CocoOptions& options,
                                   std::vector<std::string>& notes) {
  if (!fs::is_directory(path)) {
    throw Error(ErrorCode::not_found, "there is no such folder", {.path = path.string()});
  }
  if (!options.annotations.empty() || !options.images.empty()) return {given_files(path, options)};
  const fs::path folder = path / "annotations";
  std::string prefix = options.keypoints ? kKeypoints : kInstances;
  std::vector<std::string> splits = splits_of_annotations(folder, prefix);
  if (splits.empty() && !options.keypoints) {
    prefix = kKeypoints;
    splits = splits_of_annotations(folder, prefix);
  }
  if (splits.empty()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("holds no annotations/{}<split>.json; name the files with --annotations "
                    "FILE --images FOLDER",
                    options.keypoints ? kKeypoints : kInstances),
        {.path = path.string()});
  }
  std::vector<CocoListing> listings;
  for (const std::string& split : splits) {
    const fs::path annotations = folder / (prefix + split + ".json");
    if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("is of the split '{}', whose name {}; rename the file", split, fault),
                  {.path = annotations.string()});
    }
    fs::path images;
    for (const fs::path& candidate : {path / split, path / "images" / split, path / "images"}) {
      if (images.empty() && fs::is_directory(candidate)) images = candidate;
    }
    if (images.empty()) {
      notes.push_back(
          fmt::format("{}: there is no folder '{}' or 'images/{}' with its pictures; the "
                      "split is left out",
                      annotations.string(), split, split));
      continue;
    }
    listings.push_back({split, annotations, images});
  }
  if (listings.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("there are annotations of '{0}', but no folder '{0}' or 'images/{0}' "
                            "with the pictures",
                            splits.front()),
                {.path = path.string()});
  }
  return listings;
}

}  // namespace ffkit
