// merge and append: join data sets by their shards and manifests; records are neither read nor
// written again.
//
//   A/train/shard-00000.ffr ─┐
//   A/train/shard-00001.ffr ─┼─▶ DST/train/shard-00000.ffr .. shard-00002.ffr, manifest.json
//   B/train/shard-00000.ffr ─┘
//
// Splits with the same name are joined in the order of the sources; other splits are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/summary.h>

namespace ffkit {

enum class ShardTransfer : uint8_t {
  link,  // hard links, which write no bytes; where the file system has none: copies, with a note
  // as link; then the manifests, shards and empty folders of the sources are removed
  move,
  copy,
};
template <>
inline constexpr auto kNames<ShardTransfer> = enum_names<ShardTransfer>(
    "transfer",
    {{ShardTransfer::link, "link"}, {ShardTransfer::move, "move"}, {ShardTransfer::copy, "copy"}});

// Treatment of records that are in the result already, that is, made from files with the same
// bytes; names, order and form do not matter.
enum class Duplicates : uint8_t {
  fail,
  keep,  // they are taken once more
};
template <>
inline constexpr auto kNames<Duplicates> =
    enum_names<Duplicates>("duplicates", {{Duplicates::fail, "fail"}, {Duplicates::keep, "keep"}});

struct MergeOptions {
  ShardTransfer transfer = ShardTransfer::link;
  Duplicates duplicates = Duplicates::fail;
  // A file for the ids of such records, one per line, written before the error; empty: none.
  std::filesystem::path duplicate_ids = {};
  const std::atomic<bool>* cancel = nullptr;  // checked between shards and every few MB of copies
  std::function<void(const std::string&)> note;  // one sentence the user should know
  // The shell command that finishes the data set if this call ends early; readers of the folder see
  // it. Empty: not known.
  std::string command;
};

// Declares `transfer`, `duplicates`, `duplicate-ids`; `options` must outlive `table`.
void describe(MergeOptions& options, OptionTable& table);

// Makes a new data set from the data set folders `sources`. The folder `destination` must be new or
// empty. All or nothing, like convert(): readers refuse the folder until it is complete. All parts
// of a conversion (ConvertOptions::part) must be given, in any order; the result is that of one
// machine. With ShardTransfer::move the sources stay until the result is durable. Returns the
// splits of the result. Blocks.
//
// If the parts of a conversion are at one address, or share a folder
// (ConvertOptions::merge_when_complete, parse_part("auto")), give it as `destination`, without
// sources. Then their manifests and reports become those of the whole, and no shard is moved. Other
// data sets in stores are Error(unsupported), because a store has no links.
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

// Whether `destination` has parts of a conversion, so that merge_datasets() needs no sources.
// Throws Error(io).
bool holds_parts(const std::filesystem::path& destination);

// Adds `sources` to the data set `destination`. First it puts the new shards beside the old ones,
// which readers do not notice; then it replaces the manifest of each split in one step. After an
// error before that, or a kill, the data set is unchanged. (A kill may leave shards that no
// manifest lists; they do no harm.) If `destination` has all shards of a split already, it is left
// out, with a note, so the same call may be repeated after a kill. The sources' lines of
// report.jsonl are added. Returns the changed splits. Throws like merge_datasets(), and
// Error(invalid_argument) if nothing is left to add or another call uses the folder.
ConvertSummary append_datasets(const std::filesystem::path& destination,
                               const std::vector<std::filesystem::path>& sources,
                               const MergeOptions& options);

}  // namespace ffkit
