// MergePlan: which shards go where when data sets are joined. Whether they may be is said by
// merge_rules.h. Looks at manifests and shards, changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/merge.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// Which records are there twice when data sets are joined: those of equal content
// (identity/record_content.h), whatever their names, order, sizes and codes.
//
// Records that have no files are numbers and texts, of which equal ones are there by chance: sets
// of these are the same data where all records of one are in the other.

// The sums of a split's records. One whose files are in another form in the record has two: theirs,
// which its shard keeps, and that of its own bytes.
struct SplitContents {
  struct Key {
    ContentSum sum;
    int64_t record = 0;
    bool is_kept = false;

    auto operator<=>(const Key&) const = default;
  };
  std::filesystem::path folder;  // of the split
  std::string name;              // of its set, in messages
  bool has_files = false;
  int64_t num_records = -1;  // not read yet
  std::vector<Key> keys;     // sorted
};

class ContentIndex {
 public:
  // The records of the split in `folder` are in the result; they are read when they are asked for.
  void add(std::filesystem::path folder, std::string name);
  // Throws Error(invalid_argument), naming the first equal pair, where records of the split in
  // `folder` are in the result already; writes their ids where `options` ask for that. Then adds
  // it, as `name`.
  void require_new(const std::filesystem::path& folder, const std::string& name,
                   const MergeOptions& options);

 private:
  std::vector<SplitContents> splits_;
};

// The shards of a split that one source brings.
struct SourceShards {
  std::filesystem::path data_set;
  std::filesystem::path folder;  // of its split
  Manifest manifest;
};

struct PlannedSplit {
  std::string name;
  Manifest manifest;  // of the destination as it is; without shards when it has no such split
  bool is_new = true;
  std::vector<SourceShards> sources;  // in order; at least one in a plan's splits()
  // The sources are the parts of one conversion (ConvertOptions::part), in their order.
  bool is_conversion = false;
  // And their shards are numbered by groups of files, whichever part makes them.
  bool is_of_groups = false;
  // What is in the result; shared by copies of the plan.
  std::shared_ptr<ContentIndex> contents = std::make_shared<ContentIndex>();

  // The destination's manifest with the sources' shards, called `shard_names`, behind its own.
  Manifest joined(const std::vector<std::string>& shard_names) const;
  // With the names that the shards have.
  Manifest joined() const;
  // Gives `use` the lines about the split in the reports of its sources.
  void read_reports(const std::function<void(std::string_view)>& use) const;
};

class MergePlan {
 public:
  // `options` must outlive the plan.
  explicit MergePlan(const MergeOptions& options) : options_(options) {}

  // The data set that is added to. Before any source.
  void set_destination(const std::filesystem::path& folder);
  // Throws as merge_datasets() says.
  void add_source(const std::filesystem::path& folder);

  // One of the parts of a conversion in a store, whose manifests are in `folder`; their shards are
  // not looked at. Throws as add_source().
  void add_part(const std::filesystem::path& folder, const std::vector<std::string>& splits);

  // The splits that get shards, in order of appearance. Throws Error(invalid_argument) when some
  // sources are parts of a conversion, and not all of its parts are there.
  std::vector<PlannedSplit> splits() const;

 private:
  void require_new(const std::filesystem::path& folder);
  void require_same_classes(const Manifest& manifest, const std::filesystem::path& folder);
  // Refuses a split that does not fit to those of its name.
  PlannedSplit& place_of(const std::string& name, const Manifest& manifest,
                         const std::filesystem::path& folder);
  PlannedSplit& find_or_add(const std::string& name, const Manifest& first);

  const MergeOptions& options_;
  std::set<std::filesystem::path> folders_;  // canonical
  std::vector<PlannedSplit> splits_;
  Manifest classes_from_;  // the first that has classes
  std::filesystem::path classes_folder_;
};

}  // namespace ffkit
