// remove: removes records from a data set, so that none of its files has their bytes.
//
//   DATA/train/shard-00003.ffr   has such records ─▶ shard-00008.ffr without them
//   DATA/train/manifest.json     replaced in one step; then the old shard is removed
//
// The order of the other records stays. Shards without such records stay, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/summary.h>

namespace ffkit {

struct RemoveOptions {
  // Values of the field `id`: a UTF-8 file with one id per line, also in a store; or a list. One of
  // the two.
  std::filesystem::path ids_file = {};
  std::optional<std::vector<std::string>> ids = {};
  const std::atomic<bool>* cancel = nullptr;     // checked between records
  std::function<void(const std::string&)> note;  // one sentence the user should know
};

// Declares `ids`; `options` must outlive `table`.
void describe(RemoveOptions& options, OptionTable& table);

struct RemoveSummary {
  std::vector<SplitSummary> splits;    // that were changed, as they are now
  int64_t num_removed = 0;             // records
  std::vector<std::string> not_found;  // ids that no record has
};

// Removes the records with these ids from all splits of the data set in the folder `data`, and
// their lines from its report. First it writes the new shards beside the old ones, then it replaces
// the manifests, then it removes the old shards. After a kill, each split is either unchanged or
// finished; the same call then removes leftover files. Locks the folder, like an append. Blocks.
//
// On errors it changes nothing. Throws Error(invalid_argument) without ids, for records without a
// field `id`, if all records of a split would be removed, for a part of a conversion, for records
// that refer to each other by number, for FFRecord v1, and while another process joins or changes
// the folder; Error(unsupported) for a store; Error(not_found) if no record has such an id;
// Error(corrupt) if a remaining record cannot be read.
RemoveSummary remove_records(const std::filesystem::path& data, const RemoveOptions& options);

}  // namespace ffkit
