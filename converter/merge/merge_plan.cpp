#include "merge/merge_plan.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include <ffkit/base/option_names.h>
#include <ffkit/base/version.h>
#include <ffkit/format/dataset.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "identity/record_content.h"
#include "input/cancel.h"
#include "merge/merge_rules.h"
#include "output/own_names.h"
#include "pack/report.h"
#include "plan/chosen_source.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

// Keeps what all agree on.
void intersect(std::map<std::string, std::string>& common,
               const std::map<std::string, std::string>& other) {
  std::erase_if(common, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    return found == other.end() || found->second != entry.second;
  });
}

using Key = SplitContents::Key;

// Adds the sums of a shard's records, of which the first is number `base`. Returns how many cannot
// be read.
int64_t add_shard(const Dataset& dataset, int64_t shard_index, int64_t base,
                  const MergeOptions& options, std::vector<Key>& keys) {
  const ShardReader& shard = dataset.shard(shard_index);
  const std::vector<ContentSum> kept = kept_contents(shard);
  std::mutex mutex;
  int64_t num_damaged = 0;
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, shard.num_records(), 64), [&](const auto& range) {
        RecordContent content(dataset.schema());
        std::vector<Key> found;
        int64_t num_bad = 0;
        for (int64_t i = range.begin(); i < range.end() && !is_cancelled(options.cancel); ++i) {
          const ContentSum& of_files = kept.empty() ? ContentSum() : kept[static_cast<size_t>(i)];
          const bool is_kept = of_files != ContentSum();
          if (is_kept) found.push_back({of_files, base + i, true});
          try {
            const ContentSum told = content.told(shard, i);
            if (told != of_files) found.push_back({told, base + i, false});
          } catch (const Error& error) {
            if (error.code() != ErrorCode::corrupt) throw;
            ++num_bad;
          }
        }
        const std::scoped_lock lock(mutex);
        keys.insert(keys.end(), found.begin(), found.end());
        num_damaged += num_bad;
      });
  return num_damaged;
}

void read_contents(SplitContents& split, const MergeOptions& options) {
  const Dataset dataset = Dataset::open(split.folder);
  split.num_records = dataset.num_records();
  split.has_files = has_files(dataset.schema());
  int64_t base = 0;
  int64_t num_damaged = 0;
  for (int64_t shard = 0; shard < dataset.num_shards(); ++shard) {
    num_damaged += add_shard(dataset, shard, base, options, split.keys);
    base += dataset.shard(shard).num_records();
    throw_if_cancelled(options.cancel);
  }
  tbb::parallel_sort(split.keys);
  if (num_damaged > 0 && options.note) {
    options.note(fmt::format("{}: {} damaged {} not compared with the others",
                             Place(split.folder).shown(), num_damaged,
                             num_damaged == 1 ? "record is" : "records are"));
  }
}

// Equal records: of the new split, and of one that is there.
struct Twins {
  const Key* added = nullptr;
  const Key* known = nullptr;
};

// The first of equal sums of each, in the order of the new records.
std::vector<Twins> find_twins(const SplitContents& added, const SplitContents& known,
                              int64_t& num_of_known) {
  std::vector<Twins> twins;
  std::set<int64_t> of_known;
  auto at = known.keys.begin();
  for (const Key& key : added.keys) {
    while (at != known.keys.end() && at->sum < key.sum) ++at;
    if (at == known.keys.end()) break;
    if (at->sum != key.sum) continue;
    twins.push_back({&key, &*at});
    for (auto equal = at; equal != known.keys.end() && equal->sum == key.sum; ++equal) {
      if (!of_known.insert(equal->record).second) break;  // counted with the key before
    }
  }
  num_of_known = std::ssize(of_known);
  const auto record_of = [](const Twins& pair) { return pair.added->record; };
  std::ranges::stable_sort(twins, {}, record_of);
  const auto is_of_same = [&](const Twins& a, const Twins& b) {
    return record_of(a) == record_of(b);
  };
  twins.erase(std::unique(twins.begin(), twins.end(), is_of_same), twins.end());
  return twins;
}

std::vector<std::byte> bytes_of(const Dataset& dataset, int64_t record) {
  const Dataset::Location where = dataset.locate(record);
  RecordContent content(dataset.schema());
  return content.bytes(dataset.shard(where.shard_index), where.local_index);
}

// Its field `id`; nothing where it has none.
std::optional<std::string> id_of(const Dataset& dataset, int64_t record) {
  const int field = dataset.schema().index_of("id");
  std::vector<std::byte> id;
  if (field < 0 || dataset.schema().fields[static_cast<size_t>(field)].type != FieldType::string ||
      !dataset.read_field(record, static_cast<size_t>(field), id)) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(id.data()), id.size());
}

// Its id, in quotes; where it has none, its number.
std::string name_of(const Dataset& dataset, int64_t record) {
  const auto id = id_of(dataset, record);
  return id ? fmt::format("'{}'", printable(*id)) : fmt::format("record {}", record);
}

void write_ids(const Dataset& dataset, const std::vector<Twins>& twins, const fs::path& path) {
  std::string ids;
  for (const Twins& pair : twins) {
    const auto id = id_of(dataset, pair.added->record);
    if (!id) {
      throw argument_error("duplicate_ids",
                           fmt::format("{}: its records have no field 'id'; leave out {}",
                                       dataset.path().string(), option_name("duplicate_ids")));
    }
    ids += *id + "\n";
  }
  write_durably(path, ids);
}

// Refuses `added` where it has what `known` has.
void require_apart(const SplitContents& added, const SplitContents& known,
                   const MergeOptions& options) {
  int64_t num_of_known = 0;
  const std::vector<Twins> twins = find_twins(added, known, num_of_known);
  const bool is_same_data =
      std::ssize(twins) == added.num_records || num_of_known == known.num_records;
  if (twins.empty() || (!added.has_files && !is_same_data)) return;
  const Dataset mine = Dataset::open(added.folder);
  const Dataset theirs = Dataset::open(known.folder);
  // A sum has a CRC of 32 bits: the bytes decide, where the records have them.
  const auto is_true = [&](const Twins& pair) {
    return pair.added->is_kept || pair.known->is_kept ||
           bytes_of(mine, pair.added->record) == bytes_of(theirs, pair.known->record);
  };
  const auto first = std::ranges::find_if(twins, is_true);
  if (first == twins.end()) return;
  if (!options.duplicate_ids.empty()) write_ids(mine, twins, options.duplicate_ids);
  const std::string other = name_of(theirs, first->known->record);
  refuse_source(
      added.folder,
      fmt::format(
          "{} of its {} records {} already in {}, because they were made from the same {} (for "
          "example {} here and {} there); remove these records from this data set ({} writes their "
          "ids to a file for 'ffconvert remove'), or give {} to keep them twice",
          twins.size(), added.num_records, twins.size() == 1 ? "is" : "are", known.name,
          added.has_files ? "files" : "values", name_of(mine, first->added->record), other,
          option_name("duplicate_ids"), option_set("duplicates", "keep")));
}

}  // namespace

Manifest PlannedSplit::joined(const std::vector<std::string>& shard_names) const {
  Manifest result = manifest;
  auto name_of_next = shard_names.begin();
  int number = 1;
  std::map<std::string, std::set<std::string>> said;  // Attribution, of all that is joined
  const auto listen = [&said](const Manifest& of) {
    for (const char* key : {"license", "data_source", "note"}) {
      const auto found = of.source.find(key);
      if (found != of.source.end()) said[key].insert(found->second);
    }
  };
  listen(manifest);
  for (const SourceShards& source : sources) {
    for (ManifestShard shard : source.manifest.shards) {
      shard.file = *name_of_next++;
      result.shards.push_back(std::move(shard));
    }
    if (is_conversion) continue;  // as if one machine had made it
    listen(source.manifest);
    if (is_new) intersect(result.options, source.manifest.options);
    if (!is_new && option_in(source.manifest, kOnly) != option_in(manifest, kOnly)) {
      result.options.erase(kOnly);  // some of the records are no longer of that choice
    }
    const char* key = is_new ? "path" : "appended";
    while (result.source.contains(fmt::format("{}_{}", key, number))) ++number;
    result.source[fmt::format("{}_{}", key, number)] = utf8_of(source.folder.string());
  }
  for (const auto& [key, texts] : said)
    result.source[key] = fmt::format("{}", fmt::join(texts, "; "));
  return result;
}

Manifest PlannedSplit::joined() const {
  std::vector<std::string> names;
  for (const SourceShards& source : sources) {
    for (const ManifestShard& shard : source.manifest.shards) names.push_back(shard.file);
  }
  return joined(names);
}

void PlannedSplit::read_reports(const std::function<void(std::string_view)>& use) const {
  for (const SourceShards& source : sources) {
    for_report_lines(read_report(source.data_set / kReportFile),
                     [&](const ReportLine& line, std::string_view text) {
                       if (line.split == name) use(text);
                     });
  }
}

void MergePlan::set_destination(const fs::path& folder) {
  for (const std::string& split : splits_to_join(folder)) {
    // Opening compares every shard with the manifest.
    Manifest manifest = Dataset::open(folder, split).manifest();
    require_same_classes(manifest, folder);
    splits_.push_back({.name = split, .manifest = std::move(manifest), .is_new = false});
    splits_.back().contents->add(folder / split, "the destination");
  }
  require_new(folder);
}

void MergePlan::add_source(const fs::path& folder) {
  const std::vector<std::string> names = splits_to_join(folder);
  require_new(folder);
  for (const std::string& name : names) {
    Manifest manifest = Dataset::open(folder, name).manifest();
    PlannedSplit& split = place_of(name, manifest, folder);
    require_same_meaning(split, manifest, folder);
    if (is_shared_and_there(split, manifest)) continue;
    if (holds_shards(split, manifest)) {
      if (options_.note) {
        options_.note(
            fmt::format("{}: the shards of split '{}' are already in the destination and left out",
                        folder.string(), name));
      }
      continue;
    }
    require_new_records(split, manifest, folder, options_);
    split.sources.push_back({.data_set = fs::canonical(folder),
                             .folder = fs::canonical(folder / name),
                             .manifest = std::move(manifest)});
  }
}

void MergePlan::add_part(const fs::path& folder, const std::vector<std::string>& splits) {
  for (const std::string& name : splits) {
    Manifest manifest = read_manifest(folder / name / kManifestFile);
    PlannedSplit& split = place_of(name, manifest, folder);
    split.sources.push_back(
        {.data_set = folder, .folder = folder / name, .manifest = std::move(manifest)});
  }
}

PlannedSplit& MergePlan::place_of(const std::string& name, const Manifest& manifest,
                                  const fs::path& folder) {
  require_same_classes(manifest, folder);
  PlannedSplit& split = find_or_add(name, manifest);
  require_same_fields(split, manifest, folder);
  return split;
}

std::vector<PlannedSplit> MergePlan::splits() const {
  std::vector<PlannedSplit> wanted;
  std::ranges::copy_if(splits_, std::back_inserter(wanted),
                       [](const PlannedSplit& split) { return !split.sources.empty(); });
  for (PlannedSplit& split : wanted) {
    require_kept_references(split);
    join_parts(split);
  }
  return wanted;
}

void MergePlan::require_new(const fs::path& folder) {
  if (!folders_.insert(fs::canonical(folder)).second) {
    refuse_source(folder,
                  "the folder is given twice, so its records would be in the result twice; give "
                  "the folder once");
  }
}

// Labels of all splits mean the same classes.
void MergePlan::require_same_classes(const Manifest& manifest, const fs::path& folder) {
  if (manifest.classes.empty()) return;
  if (classes_from_.classes.empty()) {
    classes_from_ = manifest;
    classes_folder_ = folder;
    return;
  }
  if (const std::string other = class_difference(manifest, classes_from_); !other.empty()) {
    refuse_source(folder, fmt::format("this data set and {} have different classes: {}",
                                      classes_folder_.string(), other));
  }
}

PlannedSplit& MergePlan::find_or_add(const std::string& name, const Manifest& first) {
  const auto found = std::ranges::find(splits_, name, &PlannedSplit::name);
  if (found != splits_.end()) return *found;
  Manifest manifest = first;
  manifest.split = name;
  manifest.shards.clear();
  manifest.source = {{"kind", "merge"}};
  manifest.created_by = "ffconvert " FFKIT_VERSION;
  return splits_.emplace_back(PlannedSplit{.name = name, .manifest = std::move(manifest)});
}

void ContentIndex::add(fs::path folder, std::string name) {
  splits_.push_back({.folder = std::move(folder), .name = std::move(name)});
}

void ContentIndex::require_new(const fs::path& folder, const std::string& name,
                               const MergeOptions& options) {
  SplitContents added{.folder = folder, .name = name};
  if (!splits_.empty()) {
    read_contents(added, options);
    for (SplitContents& known : splits_) {
      if (known.num_records < 0) read_contents(known, options);
      require_apart(added, known, options);
    }
  }
  splits_.push_back(std::move(added));
}

}  // namespace ffkit
