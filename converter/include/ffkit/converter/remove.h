// remove: records taken out of a data set, so that none of its files has their bytes.
//
//   DATA/train/shard-00003.ffr   has such records ─▶ shard-00008.ffr without them
//   DATA/train/manifest.json     replaced in one step; then the old shard is removed
//
// The order of the others stays, and so do shards without such records.
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
  // The records' field `id`: a UTF-8 file with one id a line, also in a store; or the ids
  // themselves. One of the two.
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
// their lines from its report. First the new shards are written beside the old ones, then the
// manifests are replaced, then the old shards are removed. A kill leaves each split as it was or as
// it is to be; the same call then removes what is left over. Locks the folder, as an append does.
// Blocks.
//
// Throws Error(invalid_argument) without ids, for records without a field `id`, where all records
// of a split would go, for a part of a conversion, for records that refer to each other by number,
// for FFRecord v1, and while another process joins or changes the folder; Error(unsupported) for a
// store; Error(not_found) where no record has such an id; Error(corrupt) where a record that stays
// cannot be read. Nothing is changed then.
RemoveSummary remove_records(const std::filesystem::path& data, const RemoveOptions& options);

}  // namespace ffkit
