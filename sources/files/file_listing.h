// Files of a source that is made of some of them (ConvertOptions::by_files): their list, and a list
// of those that are given.
#pragma once

#include <any>
#include <filesystem>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>

#include "files/shard_files.h"

namespace ffkit {

// With lengths and times. Throws Error(not_found) for a file that is not there.
FileListing file_listing(ShardListing listing);
// Of one split.
FilesOfSplit listed_split(const ShardSplit& split);
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
