// Copies of finished data sets, from one place to another: folders and stores in any combination.
//
//   SRC/<split>/manifest.json ─▶ shards, many at once ─▶ report.jsonl ─▶ manifests ─▶ DST
//                                each checked while it passes
//
// During a copy, DST has the marker of an unfinished data set, which says how to continue.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>

namespace ffkit {

struct CopyOptions {
  // Of a data set with splits: those that are copied; empty: all.
  std::vector<std::string> splits;
  // The number of shards that are copied at the same time, 1 to 64. Each takes up to 100 MiB of
  // memory.
  int num_threads = 4;
  // Continues an interrupted copy of the same data; without it, that is an error. A copy that
  // another process is making is always an error.
  bool resume = false;
  // Checked between pieces of 4 MiB; once true, the copy ends with Error(cancelled).
  const std::atomic<bool>* cancel = nullptr;
  // Called after each shard, with records; must be quick.
  std::function<void(const ConvertProgress&)> progress;
  // Called with notes to the user. In a store, one of them says that it takes half a minute to see
  // whether a copy of another machine still runs.
  std::function<void(const std::string&)> note;
  // The shell command that finishes the copy if this call ends early.
  std::string command;
};

struct CopySummary {
  std::vector<std::string> splits;
  int64_t num_shards = 0;
  int64_t num_records = 0;
  int64_t file_bytes = 0;        // of all shards
  int64_t num_equal_shards = 0;  // that were there already
  int64_t num_copied_bytes = 0;
  double seconds = 0;
};

// Copies the data set, or the split, at `from` to `to`. The bytes of every shard are compared with
// the checksums of its records, index and columns, and these with the manifest's. So a damaged
// shard gives Error(corrupt) that names it, and does not appear at `to`. If a shard is at `to`
// already, with the length and catalog checksum of the manifest, it is not copied.
//
// Throws Error(invalid_argument) if `from` is not finished, or `to` has another data set or other
// files; Error(unsupported) for places that cannot be written to; Error(io).
CopySummary copy_dataset(const std::filesystem::path& from, const std::filesystem::path& to,
                         const CopyOptions& options);

}  // namespace ffkit
