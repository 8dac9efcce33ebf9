// MergePlan: which shards go where when data sets are joined. Whether they may be is said by
// merge_rules.h. Looks at manifests and shards, changes nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/format/manifest.h>

namespace ffkit {

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

  // The destination's manifest with the sources' shards, called `shard_names`, behind its own.
  Manifest joined(const std::vector<std::string>& shard_names) const;
  // With the names that the shards have.
  Manifest joined() const;
  // Gives `use` the lines about the split in the reports of its sources.
  void read_reports(const std::function<void(std::string_view)>& use) const;
};

class MergePlan {
 public:
  explicit MergePlan(std::function<void(const std::string&)> note = {}) : note_(std::move(note)) {}

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

  std::function<void(const std::string&)> note_;
  std::set<std::filesystem::path> folders_;  // canonical
  std::vector<PlannedSplit> splits_;
  Manifest classes_from_;  // the first that has classes
  std::filesystem::path classes_folder_;
};

}  // namespace ffkit
