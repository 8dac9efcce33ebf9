// Destination: the data set folder while it is being made: claimed by a locked marker, taken back
// unless committed.
//
//   claim ─▶ (splits are written) ─▶ commit(): fsync, marker removed last
//                   └─▶ destructor without commit(): what was made is removed, folders made for it
//                   too; but a conversion's finished work and the marker stay for `resume`
//
// After kill -9 the marker stays; the next claim finds it unlocked and removes what a conversion
// makes, or goes on with it. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ffkit/format/unfinished.h>

#include "format/file/claim_file.h"
#include "format/file/file_lock.h"

namespace ffkit {

class Destination {
 public:
  static constexpr const char* kReport = "report.jsonl";
  // Of a split's folder: its samples are gathered (gather.h).
  static constexpr const char* kGathered = "gathered.tmp";

  // What is made in a folder.
  enum class Kind {
    conversion,  // hours of work: only a conversion may remove what another one has left
    // The next two take no time or the speed of the disk, and their sources are still there.
    merge,
    v1,
    split,  // one split, in the folder itself; such a conversion cannot be continued
  };
  // Throws Error(invalid_argument) when `folder` is no folder or holds what no unfinished
  // conversion left. Changes nothing.
  static void require_usable(const std::filesystem::path& folder, Kind kind = Kind::conversion);

  enum class Unfinished { remove, go_on };
  struct Claim {
    Kind kind = Kind::conversion;
    // What becomes of an unfinished data set in the folder.
    Unfinished unfinished = Unfinished::remove;
    std::string command;                                // for the marker (UnfinishedMarker)
    std::function<void(const std::string&)> note = {};  // a sentence about the file system
  };

  // Makes `folder` (and its parents) if need be and claims it. Throws Error(invalid_argument) when
  // it holds anything that was not left unfinished, work that this claim's kind may neither remove
  // nor go on with, or when another process has claimed it; Error(io) when it cannot be made.
  // Nothing is changed then.
  explicit Destination(const std::filesystem::path& folder, Claim claim);
  explicit Destination(const std::filesystem::path& folder) : Destination(folder, Claim()) {}
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // True when something unfinished was found and removed.
  bool started_over() const { return found_unfinished_ && claim_.unfinished == Unfinished::remove; }
  // True when an unfinished conversion was found and is there.
  bool goes_on() const { return found_unfinished_ && claim_.unfinished == Unfinished::go_on; }
  // Sends `note` a sentence when started_over(). `name`: of the folder, as the user gave it.
  void note_start_over(const std::function<void(const std::string&)>& note,
                       const std::filesystem::path& name) const;
  // Finished shards in the folder.
  int64_t num_shards() const;
  // Whether there are finished shards, or samples that were all gathered.
  bool holds_work() const;

  // What set_plan() was given for the conversion that was found; empty when it had not come that
  // far.
  const std::string& found_plan() const { return found_.plan; }
  // Writes durably into the marker what is being made here: one line.
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
  bool try_lock_marker();
  void refuse_user(const ClaimFile::User& user) const;
  void take_over();
  void require_renames() const;
  void give_back() noexcept;
  void roll_back() noexcept;
  void remove_made_folders() noexcept;

  std::filesystem::path folder_;
  Claim claim_;
  std::vector<std::filesystem::path> made_folders_;  // outermost first
  FileLock marker_;
  ClaimFile claim_file_;  // where the file system has no locks
  std::string lock_note_;
  bool has_noted_fsync_ = false;
  bool made_marker_ = false;  // it was not there
  bool is_claimed_ = false;   // and what is made is ours to remove
  bool found_unfinished_ = false;
  UnfinishedMarker found_;
};

}  // namespace ffkit
