// ShardMover: brings shards into a split's folder, by hard link or copy, and takes them back unless
// they are kept.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include <ffkit/converter/merge.h>

namespace ffkit {

// Not thread-safe.
class ShardMover {
 public:
  // `options` must outlive the mover.
  explicit ShardMover(const MergeOptions& options) : options_(options) {}
  // Removes what was made and not kept.
  ~ShardMover();
  ShardMover(const ShardMover&) = delete;
  ShardMover& operator=(const ShardMover&) = delete;

  // Makes a folder, if it is not there.
  void make_folder(const std::filesystem::path& folder);
  // Makes `to`, which does not exist, a durable file with the bytes of `from`; its name is durable
  // once its folder is fsynced. Throws Error(cancelled), Error(io).
  void bring(const std::filesystem::path& from, const std::filesystem::path& to);
  // What was made in `folder` stays.
  void keep(const std::filesystem::path& folder);

  // Whether bring() will copy from `from` into `folder`, as far as that can be told.
  bool will_copy(const std::filesystem::path& from, const std::filesystem::path& folder) const;

 private:
  void copy(const std::filesystem::path& from, const std::filesystem::path& to);

  const MergeOptions& options_;
  std::vector<std::filesystem::path> made_;  // folders before what is in them
  std::set<std::filesystem::path> noted_;    // sources' folders that cannot be linked
};

}  // namespace ffkit
