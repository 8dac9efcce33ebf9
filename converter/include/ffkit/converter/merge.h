// merge and append: data sets joined shard by shard and manifest by manifest; no record is read or
// written anew.
//
//   A/train/shard-00000.ffr ─┐
//   A/train/shard-00001.ffr ─┼─▶ DST/train/shard-00000.ffr .. shard-00002.ffr, manifest.json
//   B/train/shard-00000.ffr ─┘
//
// Splits of the same name are joined in the order of the sources; others are taken over.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/summary.h>
#include <ffkit/format/option_table.h>

namespace ffkit {

enum class ShardTransfer : uint8_t {
  link,  // hard links: no bytes are written; copies, with a note, where the file system cannot link
  // as link; then the sources' manifests and shards are removed, and their folders if nothing else
  // is in them
  move,
  copy,
};

struct MergeOptions {
  ShardTransfer transfer = ShardTransfer::link;
  const std::atomic<bool>* cancel = nullptr;  // checked between shards and every few MB of copies
  std::function<void(const std::string&)> note;  // one sentence the user should know
  // What finishes the data set when this call ends early, for a shell: whoever opens the folder is
  // told. Empty: not known.
  std::string command;
};

const char* to_string(ShardTransfer transfer);
// Inverse of to_string; throws Error(invalid_argument).
ShardTransfer parse_shard_transfer(std::string_view name);
// Declares `transfer`; `options` must outlive `table`.
void describe(MergeOptions& options, OptionTable& table);

// Makes the new data set `destination` of `sources`, data set folders. All or nothing, as
// convert(): the folder must be new or empty, readers refuse it until it is whole. Parts of one
// conversion (ConvertOptions::part), in any order, become what one machine would have made; all
// must be given. With ShardTransfer::move the sources are left alone until the result is durable.
// Throws Error(invalid_argument) when the same folder is given twice, or a copy of it, a source is
// of FFRecord v1, schemas or classes differ, or another call changes a source, or uses one that
// this one would move, at the same time (sources are locked, by flock(2) of their folders);
// Error(corrupt) when a source's shards are not those of its manifest. Returns the splits of the
// result. Blocks.
ConvertSummary merge_datasets(const std::filesystem::path& destination,
                              const std::vector<std::filesystem::path>& sources,
                              const MergeOptions& options);

// Adds `sources` to the data set `destination`. The new shards are put beside the old ones first,
// which nobody notices, then each split's manifest is replaced at once; on an error before that,
// and after a kill, the data set is as it was (after a kill there may be shards that no manifest
// lists; they are left alone). A split of a source whose shards are all in `destination` already is
// left out, with a note: that is what the same call finds that was killed between two splits'
// manifests. The sources' lines of report.jsonl are added to the destination's. Throws as
// merge_datasets(), also when nothing is left to add, and Error(invalid_argument) while another
// call uses the folder. Returns the splits that were added to.
ConvertSummary append_datasets(const std::filesystem::path& destination,
                               const std::vector<std::filesystem::path>& sources,
                               const MergeOptions& options);

}  // namespace ffkit
