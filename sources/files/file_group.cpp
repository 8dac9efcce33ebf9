#include "files/file_group.h"

#include <system_error>

#include "archives/parallel_io.h"
#include "converter/input/source_error.h"

namespace ffkit {

std::vector<FileStamp> stamps_of_objects(const std::vector<fs::path>& addresses) {
  std::vector<FileStamp> stamps(addresses.size());
  parallel_io_that_throws(addresses.size(), [&](size_t i) {
    std::error_code missing;
    stamps[i] = stamp_of(addresses[i], missing);
    if (missing) {
      throw source_error(absolute_name(addresses[i]), ErrorCode::not_found,
                         "there is no such object");
    }
  });
  return stamps;
}

FilesOfSplit listed_split(const ShardSplit& split) {
  FilesOfSplit listed{.name = split.name, .is_training = split.is_training};
  std::vector<FileStamp> stamps;
  if (Place(split.files.front()).is_in_store()) {
    stamps = stamps_of_objects(split.files);
  } else {
    stamps.reserve(split.files.size());
    for (const fs::path& path : split.files) {
      std::error_code missing;
      stamps.push_back(stamp_of(path, missing));
      if (!missing) continue;
      throw source_io_error(path, "cannot be opened", missing.value());
    }
  }
  listed.files.reserve(split.files.size());
  for (size_t i = 0; i < stamps.size(); ++i) {
    listed.files.push_back({split.files[i], stamps[i].num_bytes, stamps[i].modified_ns});
  }
  return listed;
}

FileListing file_listing(ShardListing listing) {
  FileListing files{.notes = std::move(listing.notes)};
  files.splits.reserve(listing.splits.size());
  for (const ShardSplit& split : listing.splits) files.splits.push_back(listed_split(split));
  return files;
}

std::vector<fs::path> paths_of(const GroupOfFiles& group) {
  std::vector<fs::path> paths;
  paths.reserve(group.files.size());
  for (const SourceFile& file : group.files) paths.push_back(file.path);
  return paths;
}

}  // namespace ffkit
