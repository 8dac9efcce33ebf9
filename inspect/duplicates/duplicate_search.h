// DuplicateSearch: which records of some splits hold the same picture, to the byte or to the eye.
//
//   Dataset, ... ──▶ PictureHash of each record ──▶ pairs within a distance ──▶ groups
//                     (kept in a side file)
//
// find_duplicates() does the work in the caller's thread and on TBB's. A DuplicateSearch does it in
// a thread of its own, for a program that has other things to do. README.md says how pictures are
// compared and how groups form.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct DuplicateOptions {
  // The field that is compared. Empty: the split's picture; where it has none, the whole record,
  // by its bytes.
  std::string field;
  // Pictures whose hashes differ in at most so many of 64 bits are near: 0 .. kMaxHashDistance.
  // Half of the bits of nearly every hash are set, so that distances are even.
  int max_distance = 4;
  // Compares bytes alone. Pictures are not decoded unless hashes are there already.
  bool exact = false;
  // The folder of the side files; empty: none are read or written. See default_hash_folder().
  std::filesystem::path hash_folder;
};

inline constexpr int kMaxHashDistance = 16;

// $XDG_CACHE_HOME/ffkit/hashes or $HOME/.cache/ffkit/hashes; empty where neither is set.
std::filesystem::path default_hash_folder();

struct DuplicateRecord {
  int split = 0;       // the number of its data set among those that were given
  int64_t record = 0;  // its number in the whole split
  // Bits by which its hash differs from that of the group's first record.
  int distance = 0;
  // Whether another record of the group has the same bytes.
  bool exact = false;
  // Records of a group with the same number have the same bytes.
  int64_t content = 0;
  uint64_t hash = 0;  // of the picture, if it has one
};

// Records that are duplicates of one another, at least two: each has another one in the group that
// is equal or near. So a group may be a chain, whose ends differ more than max_distance.
struct DuplicateGroup {
  std::vector<DuplicateRecord> records;  // sorted by split, then record
  bool exact = false;                    // all of them have the same bytes
  bool across = false;                   // they are of several splits
};

// What was not compared as a picture, of one split.
struct HashCounts {
  int64_t num_records = 0;
  int64_t num_pictures = 0;     // that have a hash
  int64_t num_plain = 0;        // pictures without enough in them for a hash: compared by bytes
  int64_t num_undecodable = 0;  // compared by bytes
  int64_t num_null = 0;         // records without the field: not compared
  int64_t num_damaged = 0;      // records that cannot be read: not compared
  int64_t num_from_file = 0;    // records whose hashes a side file had
  // What is wrong with the first undecodable and damaged records, a sentence each.
  std::vector<std::string> problems;
};

struct DuplicateSplit {
  std::string name;
  std::string field;  // that was compared; empty: whole records
  HashCounts counts;
  // Records that are in a group with a record of split k, for each k; for the split itself, with
  // another record of the split.
  std::vector<int64_t> num_also_in;
};

// What a search found. Immutable; thread-safe.
class Duplicates {
 public:
  Duplicates(std::vector<DuplicateSplit> splits, std::vector<DuplicateGroup> groups,
             std::vector<std::string> notes, int max_distance);

  const std::vector<DuplicateSplit>& splits() const { return splits_; }
  // Those across splits first, then those with more records, then in the order of their records.
  const std::vector<DuplicateGroup>& groups() const { return groups_; }
  int64_t num_across() const { return num_across_; }  // the first so many groups
  // What the user should know, a sentence each, such as that hashes could not be kept.
  const std::vector<std::string>& notes() const { return notes_; }
  // The number of the group that has this record; none: the record has no duplicate.
  std::optional<int64_t> group_of(int split, int64_t record) const;

  // The numbers of the records of `split` that stay when each group keeps one record: in the order
  // of `records`, which are numbers in the whole split, those that are equal or near to no record
  // that stays. All records of the other splits stay.
  std::vector<int64_t> kept(int split, const std::vector<int64_t>& records) const;

 private:
  struct Entry {
    int split = 0;
    int64_t record = 0;
    int64_t group = 0;
  };

  std::vector<DuplicateSplit> splits_;
  std::vector<DuplicateGroup> groups_;
  std::vector<std::string> notes_;
  int max_distance_ = 0;
  int64_t num_across_ = 0;
  std::vector<Entry> entries_;  // sorted by split and record
};

// How far a search is, and whether it shall end; shared by the thread that works and those that
// look.
struct DuplicateProgress {
  std::atomic<int64_t> num_done = 0;   // records
  std::atomic<int64_t> num_total = 0;  // 0: not known yet
  std::atomic<bool> stop = false;      // set by others
  // Called by the threads that work when so many more records are hashed; those of side files are
  // in num_done before.
  std::function<void(int64_t num_records)> on_done;
};

// Compares all records of `splits`, each of which is a split or a subset of one. Throws
// Error(invalid_argument) for options that do not fit the splits, Error(cancelled) when it was told
// to stop. What was hashed until then is in the side files.
Duplicates find_duplicates(const std::vector<Dataset>& splits, const DuplicateOptions& options,
                           DuplicateProgress& progress);

// A search in a thread of its own. Thread-safe.
class DuplicateSearch {
 public:
  enum class State { none, running, done, failed };

  DuplicateSearch(std::vector<Dataset> splits, DuplicateOptions options)
      : splits_(std::move(splits)), options_(std::move(options)) {}
  DuplicateSearch(const DuplicateSearch&) = delete;
  DuplicateSearch& operator=(const DuplicateSearch&) = delete;
  // Stops it, and waits for the records in work.
  ~DuplicateSearch() { stop(); }

  // Begins, unless it is running or done; after a failure or stop() it begins again, with what the
  // side files have.
  void start();
  // Ends a running search, and waits for the records in work. It is `none` again.
  void stop();

  State state() const;
  double share_done() const;    // 0 .. 1
  std::string message() const;  // why it failed, one sentence; else empty
  // Null unless it is done.
  std::shared_ptr<const Duplicates> result() const;

 private:
  void set(State new_state, std::string why = "",
           std::shared_ptr<const Duplicates> found = nullptr);
  void work();

  const std::vector<Dataset> splits_;
  const DuplicateOptions options_;
  DuplicateProgress progress_;

  std::mutex start_mutex_;  // of `worker_`: one start() or stop() at a time
  std::thread worker_;
  mutable std::mutex mutex_;  // of what follows
  State state_ = State::none;
  std::string message_;
  std::shared_ptr<const Duplicates> result_;
};

}  // namespace ffkit
