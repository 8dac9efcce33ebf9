// A Destination in a store.
//
//   claim ─▶ marker ─▶ (objects) ─▶ commit(): marker removed, then the claim
//
// There are no folders to be made and nothing to be fsynced. What is there is found by listing.
// A part of a conversion (Claim::part) has marker, claim, report and manifests in a folder of its
// own, and its shards beside those of the other parts; store_parts.h joins them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>

#include "output/destination.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "output/store_parts.h"
#include "storage/reader/random_reader.h"
#include "storage/stores/object_store.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

fs::path without_slash(const fs::path& address) {
  fs::path path = address;
  while (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  return path;
}

WorkThere list_objects(const fs::path& folder, Destination::Kind kind) {
  const bool is_split = kind == Destination::Kind::split;
  const std::string prefix = folder.native() + "/";
  WorkThere there;
  for (const ListedObject& object :
       store_of(folder.native())->list(folder.native(), /*recursive=*/true).objects) {
    const std::string name = object.address.substr(std::min(prefix.size(), object.address.size()));
    const size_t slash = name.find('/');
    if (name == kUnfinishedMarker) {
      there.has_marker = true;
    } else if (slash == std::string::npos && StoreClaim::is_claim(name)) {
      continue;
    } else if (slash == std::string::npos
                   ? is_name_in_data_set(name) || (is_split && is_name_in_split(name))
                   : !is_split && is_name_in_split(name.substr(slash + 1)) &&
                         name.find('/', slash + 1) == std::string::npos) {
      there.files.push_back(name);
    } else if (there.foreign.empty()) {
      there.foreign = name;
    }
  }
  return there;
}

class DestinationStore : public Destination {
 public:
  DestinationStore(const fs::path& address, Claim claim) : Destination(std::move(claim)) {
    require_usable_address(address, claim_.kind, claim_.part);
    data_set_ = without_slash(address);
    folder_ = is_part() ? folder_of_part(data_set_, claim_.part) : data_set_;
    held_.emplace(folder_, claim_.note, claim_.poll);
    take_over();
    is_claimed_ = true;
  }

  ~DestinationStore() override {
    if (!is_claimed_ || is_finished_) return;
    try {
      if (claim_.kind != Kind::conversion || !holds_work()) roll_back();
    } catch (const std::exception&) {
      // The marker stays: readers refuse what is left, and the next writer removes it or goes on.
    }
  }

  fs::path shards_folder(const std::string& split) const override { return data_set_ / split; }

  void set_shards(std::vector<Shards> shards, const std::string& plan) override {
    if (!is_part()) return;
    // Where these are parts of another conversion, the shards are theirs.
    begin_parts(data_set_, claim_.part, plan);
    own_shards_ = std::move(shards);
    // One that was killed before it had a plan may have begun to start over.
    if (has_found_plan() && claim_.unfinished == Unfinished::go_on) return;
    for (const fs::path& shard : own_shards_there()) remove_file_at(shard);
  }

  int64_t num_shards() const override {
    return is_part() ? std::ssize(own_shards_there()) : list().num_shards();
  }
  bool holds_work() const override {
    // Before there is a plan, nobody knows which shards are this part's.
    if (is_part() && own_shards_.empty()) return has_found_plan();
    return num_shards() > 0 || list().holds_work();
  }

  bool is_finished() const override { return is_finished_; }

  void set_plan(const std::string& plan) override {
    plan_ = plan;
    write_text_at(folder_ / kUnfinishedMarker, text_of_marker(plan));
  }

  void require_held() override { held_->require_held(); }

  void commit() override {
    require_held();
    if (is_part()) {
      write_text_at(folder_ / kUnfinishedMarker,
                    to_text({.kind = kFinishedPart, .plan = plan_, .command = claim_.command}));
    } else {
      remove_file_at(folder_ / kUnfinishedMarker);
    }
    keep();
  }

  void keep() override {
    is_claimed_ = false;
    held_->release();
  }

 private:
  // With the claim: looks at what is there, and removes it where that is wanted.
  void take_over() {
    const WorkThere there = list();
    // Another writer has finished, or another program put something here, before the claim.
    if (!there.has_marker && !there.is_empty()) throw folder_is_used(folder_, claim_.kind);
    // A merge has removed the folder of this part: it was seen first, so the merge is seen now.
    if (is_part() && !there.has_marker) require_usable_address(data_set_, claim_.kind, claim_.part);
    if (there.has_marker) found_ = read_unfinished_marker(folder_);
    if (is_part() && found_.kind == kFinishedPart) {
      is_finished_ = claim_.unfinished == Unfinished::go_on && has_all_shards();
      if (!is_finished_) make_unfinished();
    }
    found_unfinished_ = there.has_marker && (!there.is_empty() || !found_.kind.empty());
    if (!judge_found(there.foreign, there.num_shards() > 0)) return;
    if (there.has_marker) {
      set_plan("");  // what the marker was a plan of is gone
      remove(there);
    } else if (!write_object_once(folder_ / kUnfinishedMarker, text_of_marker(""))) {
      refuse("another program started to write to it at the same time; give another folder");
    }
  }

  bool is_part() const { return claim_.part.count > 1; }

  bool has_found_plan() const { return found_unfinished_ && !found_.plan.empty(); }

  // Of a part that has finished.
  bool has_all_shards() const {
    try {
      for (const std::string& split : list_splits(folder_)) {
        const Manifest manifest = read_manifest(folder_ / split / kManifestFile);
        if (!are_there(manifest.shards, files_there(data_set_ / split))) return false;
      }
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::corrupt) return false;
      throw;
    }
  }

  // Where a merge counts on this part, this waits for none: one of both is refused.
  void make_unfinished() {
    StoreClaim whole(data_set_, claim_.note, claim_.poll);
    if (!is_file_at(data_set_ / kUnfinishedMarker)) throw folder_is_used(data_set_, claim_.kind);
    // Of a merge that was killed; what this part will be may be other records.
    for (const std::string& split : list_splits(data_set_)) {
      remove_file_at(data_set_ / split / kManifestFile);
    }
    set_plan(found_.plan);
  }

  std::vector<fs::path> own_shards_there() const {
    std::vector<fs::path> there;
    for (const Shards& shards : own_shards_) {
      const fs::path folder = data_set_ / shards.split;
      for (const std::string& name : names_in_folder(folder).files) {
        const std::optional<int64_t> number = number_of_shard(name);
        if (number && *number >= shards.begin && *number < shards.end) {
          there.push_back(folder / name);
        }
      }
    }
    return there;
  }

  WorkThere list() const { return list_objects(folder_, claim_.kind); }

  void remove(const WorkThere& there) const {
    for (const std::string& file : there.files) remove_file_at(folder_ / file);
  }

  void roll_back() {
    require_held();
    if (claim_.kind == Kind::split) set_plan("");  // tasks of a job begin no other shard
    remove(list());
    for (const fs::path& shard : own_shards_there()) remove_file_at(shard);
    remove_file_at(folder_ / kUnfinishedMarker);
  }

  fs::path data_set_;               // folder_, unless this is a part
  std::vector<Shards> own_shards_;  // of a part
  std::string plan_;
  std::optional<StoreClaim> held_;
  bool is_claimed_ = false;   // and what is made is ours to remove
  bool is_finished_ = false;  // a part to which nothing is to be added
};

}  // namespace

void require_usable_address(const fs::path& address, Destination::Kind kind,
                            const ConvertPart& part) {
  require_writable(address);
  const fs::path folder = without_slash(address);
  const std::shared_ptr<ObjectStore> store = store_of(folder.native());
  Listing there = store->list(folder.native(), /*recursive=*/false);
  const auto is_marker = [&](const ListedObject& object) {
    return last_name(object.address) == kUnfinishedMarker;
  };
  const auto is_claim = [&](const ListedObject& object) {
    return StoreClaim::is_claim(last_name(object.address));
  };
  const bool has_marker = std::ranges::any_of(there.objects, is_marker);
  if (!has_marker) {
    // Some stores (SeaweedFS) list a folder whose last object was removed.
    std::erase_if(there.folders, [&](const std::string& below) {
      return store->list(below, /*recursive=*/false).objects.empty() &&
             store->list(below, /*recursive=*/true).objects.empty();
    });
  }
  if (part.count > 1) return require_parts(folder, there, has_marker);
  if (has_marker) return;
  if (there.folders.empty() && std::ranges::all_of(there.objects, is_claim)) return;
  throw folder_is_used(folder, kind);
}

std::unique_ptr<Destination> claim_address(const fs::path& address, Destination::Claim claim) {
  return std::make_unique<DestinationStore>(address, std::move(claim));
}

}  // namespace ffkit
