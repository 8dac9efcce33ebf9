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

#include <ffkit/base/option_table.h>
#include <ffkit/converter/summary.h>

namespace ffkit {

enum class ShardTransfer : uint8_t {
  link,  // hard links, which write no bytes; where the file system has none: copies, with a note
  // as link; then the sources' manifests and shards are removed, and the folders that are empty
  move,
  copy,
};

// What becomes of records of a source that are in the result already: made from the same files, by
// the bytes of these, whatever the names, the order and the form.
enum class Duplicates : uint8_t {
  fail,
  keep,  // they are taken once more
};

struct MergeOptions {
  ShardTransfer transfer = ShardTransfer::link;
  Duplicates duplicates = Duplicates::fail;
  // A file that gets the ids of such records, one a line, before the error; empty: none.
  std::filesystem::path duplicate_ids = {};
  const std::atomic<bool>* cancel = nullptr;  // checked between shards and every few MB of copies
  std::function<void(const std::string&)> note;  // one sentence the user should know
  // The shell command that finishes the data set after this call has ended early. Readers of the
  // folder are told. Empty: not known.
  std::string command;
};

std::string_view to_string(ShardTransfer transfer);
// Inverse of to_string; throws Error(invalid_argument).
ShardTransfer parse_shard_transfer(std::string_view name);
std::string_view to_string(Duplicates duplicates);
Duplicates parse_duplicates(std::string_view name);
// Declares `transfer`, `duplicates`, `duplicate-ids`; `options` must outlive `table`.
void describe(MergeOptions& options, OptionTable& table);

// Makes a new data set of the data set folders `sources`. The folder `destination` must be new or
// empty. All or nothing, as convert(): readers refuse the folder until it is whole. Parts of one
// conversion (ConvertOptions::part) may come in any order, but all of them must be given; they
// become what one machine would have made. With ShardTransfer::move the sources stay until the
// result is durable. Returns the splits of the result. Blocks.
//
// The parts of a conversion to a store lie at one address, and those that share a folder
// (ConvertOptions::merge_when_complete, parse_part("auto")) in that: with it as `destination`, and
// without sources, their manifests and reports become those of the whole, and no shard is moved.
// Other data sets in stores are Error(unsupported), since a store has no links.
//
// Sources are locked meanwhile, by flock(2) of their folders. Throws Error(invalid_argument) if
//   - a folder is given twice, or two sources hold the same shards, or records of the same files
//     (Duplicates),
//   - a source is of FFRecord v1, or schemas or classes differ,
//   - another call changes a source, or reads one that this call would move.
// Throws Error(corrupt) if the shards of a source are not those of its manifest.
ConvertSummary merge_datasets(const std::filesystem::path& destination,
                              const std::vector<std::filesystem::path>& sources,
                              const MergeOptions& options);

// Whether the parts of a conversion lie at `destination`, so that merge_datasets() joins them
// without sources. Throws Error(io).
bool holds_parts(const std::filesystem::path& destination);

// Adds `sources` to the data set `destination`. First the new shards are put beside the old ones,
// which readers do not notice; then each split's manifest is replaced at once. After an error
// before that, or a kill, the data set is as it was. (A kill may leave shards that no manifest
// lists; they do no harm.) A split whose shards are all in `destination` is left out, with a note:
// so the same call may be repeated after a kill between the manifests of two splits. The sources'
// lines of report.jsonl are added. Returns the splits that were added to. Throws as
// merge_datasets(), and Error(invalid_argument) if nothing is left to add or another call uses the
// folder.
ConvertSummary append_datasets(const std::filesystem::path& destination,
                               const std::vector<std::filesystem::path>& sources,
                               const MergeOptions& options);

}  // namespace ffkit
