// Destination: the data set folder while it is being made: claimed by a locked marker, taken back
// unless committed.
//
//   claim ─▶ (splits are written) ─▶ commit(): fsync, marker removed last
//                   └─▶ destructor without commit(): what was made is removed, folders made for it
//                   too
//
// After kill -9 the marker stays; the next claim finds it unlocked and removes what a conversion
// makes. Not thread-safe.
#pragma once

#include <filesystem>
#include <vector>

namespace ffkit {

class Destination {
 public:
  // Throws Error(invalid_argument) when `folder` is no folder or holds what no unfinished conversion left. Changes nothing.
  static void require_usable(const std::filesystem::path& folder);

  // Makes `folder` (and its parents) if need be and claims it. Throws Error(invalid_argument) when
  // it holds anything that a conversion did not leave, or when another process has claimed it;
  // Error(io) when it cannot be made. Nothing is changed then.
  explicit Destination(const std::filesystem::path& folder);
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // True when an unfinished conversion was found and removed.
  bool started_over() const { return started_over_; }
  std::filesystem::path report_path() const;
  std::filesystem::path v1_meta_path() const;

  // Makes everything durable and the folder readable: afterwards it stays.
  void commit();

 private:
  void make_folders();
  void lock_marker();
  void roll_back() noexcept;

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> made_folders_;  // outermost first
  int marker_fd_ = -1;
  bool owns_marker_ = false;  // locked, and ours to remove
  bool started_over_ = false;
};

}  // namespace ffkit
