#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include <ffkit/converter/remove.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_writer.h>

#include "base/file/file.h"
#include "base/fnv.h"
#include "base/make_error.h"
#include "input/cancel.h"
#include "merge/folder_lock.h"
#include "merge/merge_rules.h"
#include "output/destination_checks.h"
#include "output/own_names.h"
#include "pack/report.h"
#include "plan/chosen_source.h"
#include "plan/plan_fingerprint.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

void describe(RemoveOptions& options, OptionTable& table) {
  table.add("ids", options.ids_file,
            "Text file with the ids of the records to remove, one id on each line. Ids are values "
            "of the field 'id'");
}

namespace {

// A split, with what is to go.
struct ChangedSplit {
  Dataset dataset;
  fs::path folder;
  // Of each shard, the numbers in it of the records that go.
  std::vector<std::set<int64_t>> going;
  int64_t num_going = 0;
  Manifest manifest;                // as it is to be
  std::vector<fs::path> new_files;  // shards
};

// The ids of all records; nothing where they have none.
std::optional<std::vector<std::string>> ids_of(const Dataset& dataset) {
  const int field = dataset.schema().index_of("id");
  if (field < 0) return std::nullopt;
  const Field& described = dataset.schema().fields[static_cast<size_t>(field)];
  if (described.type != FieldType::string) return std::nullopt;
  if (described.column) return dataset.string_column("id");
  std::vector<std::string> ids;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    bytes.clear();
    dataset.read_field(i, static_cast<size_t>(field), bytes);
    ids.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return ids;
}

void require_removable(const Manifest& manifest, const fs::path& folder) {
  if (manifest.options.contains(kPart)) {
    refuse_source(folder,
                  "this folder is a part of a conversion; join all parts with 'ffconvert merge', "
                  "then remove the records");
  }
  if (manifest.options.contains(kReferences)) {
    refuse_source(folder,
                  "the records of this data set refer to each other by number, and a merge would "
                  "change the numbers; convert the data again without these samples");
  }
}

// Shards that no manifest names and unfinished files, which a killed call has left: they may have
// the bytes of records that were to go. Returns how many.
int64_t remove_leftovers_in(const fs::path& folder, const Manifest& manifest) {
  int64_t num_removed = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_named =
        std::ranges::find(manifest.shards, name, &ManifestShard::file) != manifest.shards.end();
    if (is_named || !(is_shard_name(name) || is_temporary_name(name))) continue;
    fs::remove(entry.path());
    ++num_removed;
  }
  if (num_removed > 0) sync_folder(folder);
  return num_removed;
}

// The same records, in the same order, are the same shard.
std::array<uint8_t, 16> uuid_without(std::array<uint8_t, 16> uuid, const std::set<int64_t>& going) {
  uint64_t hash = fnv1a64(std::as_bytes(std::span(uuid)));
  for (const int64_t record : going) hash = fnv1a64(std::as_bytes(std::span(&record, 1)), hash);
  for (size_t i = 0; i < sizeof(hash); ++i) {
    if (i != 6) uuid[i] = static_cast<uint8_t>(hash >> (8 * i));  // 6: the version
  }
  return uuid;
}

// The records of `shard` that stay, as they are stored.
ShardSummary write_rest(const ShardReader& shard, const std::set<int64_t>& going,
                        const fs::path& path, const RemoveOptions& options) {
  const ShardFacts facts = shard.facts();
  const std::vector<ContentSum> kept = kept_contents(shard);
  ShardWriter writer(path, shard.schema(),
                     {.alignment = facts.alignment,
                      .uuid = uuid_without(facts.uuid, going),
                      .compression = {.dictionary = shard.stream("dictionary")}});
  RecordUnpacker unpacker;
  std::vector<std::byte> stored;
  for (int64_t i = 0; i < shard.num_records(); ++i) {
    if (going.contains(i)) continue;
    throw_if_cancelled(options.cancel);
    const RecordLocation where = shard.locate(i);
    stored.resize(static_cast<size_t>(where.stored_bytes));
    shard.open_file().reader->read_at(where.offset, stored, i);
    const std::span<const std::byte> record = unpacker.unpack(shard, i, where, stored);
    writer.append(record, {.bytes = stored, .crc32c = where.checksum, .codec = where.codec},
                  kept.empty() ? ContentSum() : kept[static_cast<size_t>(i)]);
  }
  return writer.finish();
}

void write_shards(ChangedSplit& split, const RemoveOptions& options) {
  split.manifest = split.dataset.manifest();
  std::vector<ManifestShard> shards;
  auto number = std::ssize(split.manifest.shards);
  for (int64_t i = 0; i < split.dataset.num_shards(); ++i) {
    const std::set<int64_t>& going = split.going[static_cast<size_t>(i)];
    const ShardReader& shard = split.dataset.shard(i);
    if (std::ssize(going) == shard.num_records()) continue;
    if (going.empty()) {
      shards.push_back(split.manifest.shards[static_cast<size_t>(i)]);
      continue;
    }
    std::string name = shard_file_name(number++);
    while (fs::exists(split.folder / name)) name = shard_file_name(number++);
    split.new_files.push_back(split.folder / name);
    shards.push_back({write_rest(shard, going, split.folder / name, options), std::move(name)});
  }
  split.manifest.shards = std::move(shards);
  sync_folder(split.folder);
}

// The shards whose records went. Another name of the same file keeps its bytes, which is said.
void remove_old_shards(const ChangedSplit& split, const RemoveOptions& options) {
  int64_t num_linked = 0;
  for (const ManifestShard& shard : split.dataset.manifest().shards) {
    const bool stays = std::ranges::find(split.manifest.shards, shard.file, &ManifestShard::file) !=
                       split.manifest.shards.end();
    if (stays) continue;
    const fs::path path = split.folder / shard.file;
    num_linked += fs::hard_link_count(path) > 1 || fs::is_symlink(path) ? 1 : 0;
    fs::remove(path);
  }
  sync_folder(split.folder);
  if (num_linked > 0 && options.note) {
    options.note(fmt::format(
        "{}: {} of the removed shards are also in other data sets, which were joined by links; "
        "those data sets still have the records",
        split.folder.string(), num_linked));
  }
}

// Whether what a source calls a sample, such as "train.tar: cat/a.jpg", names the record `id`: its
// path, with or without an ending.
bool names(std::string_view source, std::string_view id) {
  constexpr std::string_view kBefore = "/ :";
  for (size_t at = source.find(id); at != std::string_view::npos; at = source.find(id, at + 1)) {
    const size_t end = at + id.size();
    const bool begins = at == 0 || kBefore.find(source[at - 1]) != std::string_view::npos;
    if (begins && (end == source.size() || source[end] == '.' || source[end] == ':')) return true;
  }
  return false;
}

// Takes what is said of the records out of the report: it has their names.
void clear_report(const fs::path& path, const IdList& ids) {
  const std::string report = read_report(path);
  std::string rest;
  bool is_changed = false;
  for_report_lines(report, [&](const ReportLine& line, std::string_view text) {
    const bool goes =
        std::ranges::any_of(ids.ids, [&](const std::string& id) { return names(line.source, id); });
    if (!goes) rest += text;
    is_changed = is_changed || goes;
  });
  if (!is_changed) return;
  if (rest.empty()) {
    fs::remove(path);
    sync_folder_of(path);
  } else {
    write_durably(path, rest);
  }
}

class Removal {
 public:
  Removal(fs::path data, IdList ids, const RemoveOptions& options)
      : data_(std::move(data)), ids_(std::move(ids)), options_(options) {}

  RemoveSummary run() {
    int64_t num_left_over = 0;
    bool has_ids = false;
    for (const std::string& name : splits_to_join(data_)) {
      Dataset dataset = Dataset::open(data_, name);
      num_left_over += remove_leftovers_in(data_ / name, dataset.manifest());
      if (const auto ids = ids_of(dataset)) {
        has_ids = true;
        find(std::move(dataset), data_ / name, *ids);
      }
    }
    if (!has_ids) {
      refuse_source(data_, "its records have no field 'id' with texts");
    }
    RemoveSummary summary;
    for (size_t i = 0; i < ids_.ids.size(); ++i) {
      if (!found_.contains(i)) summary.not_found.push_back(ids_.ids[i]);
    }
    if (splits_.empty() && num_left_over == 0) {
      const std::vector<std::string_view> missing(summary.not_found.begin(),
                                                  summary.not_found.end());
      throw error_at(data_, ErrorCode::not_found, "the data set has no records with the ids {}",
                     some_ids(missing));
    }
    replace();
    clear_report(data_ / kReportFile, ids_);
    if (num_left_over > 0 && options_.note) {
      options_.note(fmt::format("{}: removed {} {} of an interrupted run", data_.string(),
                                num_left_over, num_left_over == 1 ? "file" : "files"));
    }
    for (const ChangedSplit& split : splits_) {
      summary.splits.push_back(summary_of(split.manifest));
      summary.num_removed += split.num_going;
    }
    return summary;
  }

 private:
  void find(Dataset dataset, const fs::path& folder, const std::vector<std::string>& ids) {
    ChangedSplit split{.dataset = std::move(dataset), .folder = folder, .going = {}};
    split.going.resize(static_cast<size_t>(split.dataset.num_shards()));
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::optional<size_t> number = ids_.find(ids[i]);
      if (!number) continue;
      found_.insert(*number);
      const Dataset::Location where = split.dataset.locate(static_cast<int64_t>(i));
      split.going[static_cast<size_t>(where.shard_index)].insert(where.local_index);
      ++split.num_going;
    }
    if (split.num_going == 0) return;
    require_removable(split.dataset.manifest(), folder);
    if (split.num_going == split.dataset.num_records()) {
      refuse_source(folder,
                    "this command would remove all records of the split, but a split needs at "
                    "least one record; remove the folder of the split instead");
    }
    splits_.push_back(std::move(split));
  }

  void replace() {
    try {
      for (ChangedSplit& split : splits_) write_shards(split, options_);
    } catch (...) {
      std::error_code ignored;
      for (const ChangedSplit& split : splits_) {
        for (const fs::path& path : split.new_files) fs::remove(path, ignored);
      }
      throw;
    }
    for (const ChangedSplit& split : splits_) {
      write_manifest(split.folder / kManifestFile, split.manifest);
    }
    for (const ChangedSplit& split : splits_) remove_old_shards(split, options_);
  }

  const fs::path data_;
  const IdList ids_;
  const RemoveOptions& options_;
  std::vector<ChangedSplit> splits_;
  std::set<size_t> found_;  // positions in `ids_`
};

RemoveSummary remove(const fs::path& data, const RemoveOptions& options) {
  if (const Place place(data); place.is_in_store()) {
    throw error_at(place.path(), ErrorCode::unsupported,
                   "the objects of a store cannot be changed in place; copy the data set to a "
                   "folder, remove the records there, copy this folder to another place of the "
                   "store, and delete the old data set with the tools of the store");
  }
  IdList ids = read_ids(options.ids_file, options.ids, "ids");
  if (options.note) std::ranges::for_each(ids.notes, options.note);
  const fs::path folder = Place(data).path_on_disk();
  FolderLocks locks;
  locks.add(folder, FolderLocks::Use::change, options.note);
  return Removal(fs::canonical(folder), std::move(ids), options).run();
}

}  // namespace

RemoveSummary remove_records(const fs::path& data, const RemoveOptions& options) {
  return with_errors_of(data, [&] { return remove(data, options); });
}

}  // namespace ffkit
