// Copies of finished data sets, from one place to another: folders and stores in any combination.
//
//   SRC/<split>/manifest.json ─▶ shards, many at once ─▶ report.jsonl ─▶ manifests ─▶ DST
//                                each checked while it passes
//
// While a copy is made, DST has the marker of an unfinished data set, which says how to go on.
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
  // Shards that are underway at once, 1 to 64. Each takes up to 100 MiB of memory.
  int num_threads = 4;
  // Goes on with a copy of the same data that has ended early, which is an error otherwise. One
  // that another process is making is always an error.
  bool resume = false;
  // Checked between pieces of 4 MiB; once true, the copy ends with Error(cancelled).
  const std::atomic<bool>* cancel = nullptr;
  // Called after each shard, with records; must be quick.
  std::function<void(const ConvertProgress&)> progress;
  // Called with one sentence the user should know. In a store, whether a copy of another machine is
  // alive takes half a minute to tell, of which there is one.
  std::function<void(const std::string&)> note;
  // What finishes the copy when this call ends early, for a shell.
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

// Copies the data set, or the split, at `from` to `to`, which becomes the same: a folder of splits,
// or one of a split. Every shard's bytes are compared, while they pass, with the checksums of its
// records, index and columns, and these with the manifest's; so a copy of a damaged shard ends with
// Error(corrupt) that names it, and the shard does not appear at `to`. A shard that is there
// already with the manifest's length and checksum of its catalog is left as it is.
//
// Throws Error(invalid_argument) when `from` is not finished, or `to` holds another data set or
// what no copy of `from` has made; Error(unsupported) for places that cannot be written to;
// Error(io).
CopySummary copy_dataset(const std::filesystem::path& from, const std::filesystem::path& to,
                         const CopyOptions& options);

}  // namespace ffkit
