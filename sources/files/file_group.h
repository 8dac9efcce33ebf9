// FileGroup: many files of which ranges are read, from many threads; all of a disk, or all objects.
// Up to kMaxOpenFiles stay open. Of more, each is opened for each read, since a process may have
// 1,024 files open by default; it must then be as it was at first. Objects need no descriptors.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>

#include "converter/input/input_file.h"
#include "converter/places/place.h"
#include "files/shard_files.h"
#include "storage/addresses/place.h"

namespace ffkit {

// Of each object, asked for side by side. Throws Error(not_found) for one that is not there.
std::vector<FileStamp> stamps_of_objects(const std::vector<std::filesystem::path>& addresses);

class FileGroup {
 public:
  static constexpr size_t kMaxOpenFiles = 256;

  // Opens each. Throws as InputFile.
  explicit FileGroup(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {
    if (are_objects()) {
      stamps_ = stamps_of_objects(paths_);
      open_objects();
      return;
    }
    for (const std::filesystem::path& path : paths_) {
      InputFile file(path);
      stamps_.push_back(file.stamp());
      if (keeps_open()) files_.push_back(std::move(file));
    }
  }
  // The same of files that were listed with `stamps`; opens those that stay open.
  FileGroup(std::vector<std::filesystem::path> paths, std::vector<FileStamp> stamps)
      : paths_(std::move(paths)), stamps_(std::move(stamps)) {
    if (are_objects()) {
      open_objects();
      return;
    }
    for (size_t i = 0; i < paths_.size() && keeps_open(); ++i) {
      files_.emplace_back(paths_[i], stamps_[i]);
    }
  }

  // Addresses without their queries, which may be signatures.
  const std::vector<std::filesystem::path>& paths() const noexcept { return paths_; }
  // Of the files when the group was made.
  const std::vector<FileStamp>& stamps() const noexcept { return stamps_; }

  // Calls use(InputFile) with file number `file`, and returns what that returns. Throws
  // Error(not_found) when it is another one than before.
  template <typename Use>
  auto with(size_t file, const Use& use) const {
    if (!files_.empty()) return use(files_.at(file));
    return use(InputFile(paths_.at(file), stamps_[file]));
  }
  // As InputFile::read_at.
  void read_at(size_t file, int64_t offset, std::span<std::byte> out) const {
    with(file, [&](const InputFile& opened) { opened.read_at(offset, out); });
  }
  // Has a range of an object fetched; of a file of a disk, the kernel reads ahead.
  void will_read(size_t file, int64_t offset, int64_t num_bytes) const {
    if (are_objects()) files_.at(file).will_read(offset, num_bytes);
  }

 private:
  // Their paths are for messages and names from then on.
  void open_objects() {
    files_.reserve(paths_.size());
    for (size_t i = 0; i < paths_.size(); ++i) {
      files_.emplace_back(paths_[i], stamps_[i]);
      paths_[i] = shown_place(paths_[i]);
    }
  }
  bool are_objects() const { return !paths_.empty() && Place(paths_.front()).is_in_store(); }
  bool keeps_open() const { return paths_.size() <= kMaxOpenFiles || are_objects(); }

  std::vector<std::filesystem::path> paths_;
  std::vector<FileStamp> stamps_;
  std::vector<InputFile> files_;
};

// Files of a source that is made of some of them (ConvertOptions::by_files): their list, and a list
// of those that are given.

// What a manifest says of the files of a split, which were found at `path`: "kind", "path" and
// "files"; and the files as inputs.
std::map<std::string, std::string> facts_of_files(const std::string& kind,
                                                  const std::filesystem::path& path,
                                                  size_t num_files);
std::vector<SourceInput> inputs_of_files(const std::filesystem::path& path,
                                         const std::vector<std::filesystem::path>& files,
                                         const std::vector<FileStamp>& stamps);

// With lengths and times. Throws Error(not_found) for a file that is not there.
FileListing file_listing(ShardListing listing);
// Of one split.
FilesOfSplit listed_split(const ShardSplit& split);
FilesOfSplit listed_split(const std::string& name, bool is_training,
                          const std::vector<std::filesystem::path>& files,
                          const std::vector<FileStamp>& stamps);
std::vector<std::filesystem::path> paths_of(const GroupOfFiles& group);

// The files of a group, or, where there is none, what `find` returns.
template <typename Find>
ShardListing files_to_take(const GroupOfFiles* group, const Find& find) {
  if (group == nullptr) return find();
  ShardListing listing;
  listing.splits.push_back({group->split, group->is_training, paths_of(*group)});
  return listing;
}

// What an earlier source of the same listing has found, or the list itself; null where there is
// nothing of that type.
template <typename T>
const T* found_before(const GroupOfFiles* group) {
  return group == nullptr || group->found == nullptr ? nullptr : std::any_cast<T>(group->found);
}
template <typename T>
void keep_found(const GroupOfFiles* group, T found) {
  if (group != nullptr && group->found != nullptr) *group->found = std::move(found);
}

}  // namespace ffkit
