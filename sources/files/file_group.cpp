#include "files/file_group.h"

#include <system_error>

#include "archives/parallel_io.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"

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

std::map<std::string, std::string> facts_of_files(const std::string& kind, const fs::path& path,
                                                  size_t num_files) {
  return {{"kind", kind}, {"path", absolute_name(path)}, {"files", std::to_string(num_files)}};
}

std::vector<SourceInput> inputs_of_files(const fs::path& path, const std::vector<fs::path>& files,
                                         const std::vector<FileStamp>& stamps) {
  std::vector<SourceInput> inputs;
  inputs.reserve(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    inputs.push_back({.name = name_below(path, files[i]),
                      .num_bytes = stamps[i].num_bytes,
                      .modified_ns = stamps[i].modified_ns});
  }
  return inputs;
}

FilesOfSplit listed_split(const ShardSplit& split) {
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
  return listed_split(split.name, split.is_training, split.files, stamps);
}

FilesOfSplit listed_split(const std::string& name, bool is_training,
                          const std::vector<fs::path>& files,
                          const std::vector<FileStamp>& stamps) {
  FilesOfSplit listed{.name = name, .is_training = is_training};
  listed.files.reserve(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    listed.files.push_back({files[i], stamps[i].num_bytes, stamps[i].modified_ns});
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
