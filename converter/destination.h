// Destination: the data set folder while it is being made: claimed by a locked marker, taken back
// unless committed.
//
//   claim ─▶ (splits are written) ─▶ commit(): fsync, marker removed last
//                   └─▶ destructor without commit(): what was made is removed, folders made for it
//                   too
//
// After kill -9, or keep(), the marker stays; the next claim finds it unlocked and removes what a conversion
// makes, or goes on with it. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

class Destination {
 public:
  static constexpr const char* kReport = "report.jsonl";

  // Throws Error(invalid_argument) when `folder` is no folder or holds what no unfinished conversion left. Changes nothing.
  static void require_usable(const std::filesystem::path& folder);

  enum class Unfinished { remove, go_on };

  // Makes `folder` (and its parents) if need be and claims it; `unfinished` says what becomes of an unfinished conversion in it. Throws Error(invalid_argument) when
  // it holds anything that a conversion did not leave, or when another process has claimed it;
  // Error(io) when it cannot be made. Nothing is changed then.
  explicit Destination(const std::filesystem::path& folder,
                       Unfinished unfinished = Unfinished::remove);
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // True when an unfinished conversion was found and removed.
  bool started_over() const { return found_unfinished_ && unfinished_ == Unfinished::remove; }
  // True when an unfinished conversion was found and is there.
  bool goes_on() const { return found_unfinished_ && unfinished_ == Unfinished::go_on; }
  // Finished shards in the folder.
  int64_t num_shards() const;

  // What set_plan() was given for the conversion that was found; empty when it had not come that far.
  const std::string& found_plan() const { return found_plan_; }
  // Writes durably into the marker what is being made here: a word.
  void set_plan(const std::string& plan);
  std::filesystem::path report_path() const;
  std::filesystem::path v1_meta_path() const;

  // Makes everything durable and the folder readable: afterwards it stays.
  void commit();
  // Leaves everything as it is, unreadable, for a conversion that goes on.
  void keep();

 private:
  void make_folders();
  void lock_marker();
  void roll_back() noexcept;

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> made_folders_;  // outermost first
  int marker_fd_ = -1;
  bool owns_marker_ = false;  // locked, and ours to remove
  Unfinished unfinished_;
  bool found_unfinished_ = false;
  std::string found_plan_;
};

}  // namespace ffkit
