#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <set>

#include <ffkit/converter/leftovers.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

// Whether a process of this machine holds the marker, or has a file in the folder.
bool is_in_use(const std::string& folder) {
  const Place place(folder);
  if (!place.is_on_disk()) return false;
  const fs::path path = place.path_on_disk();
  if (ClaimFile::user_of(path, FileLock::Mode::exclusive).is_here) return true;
  FileLock lock(open_descriptor(path / kUnfinishedMarker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  return lock.is_open() && lock.try_lock(FileLock::Mode::exclusive) == EWOULDBLOCK;
}

// ".ffkit-upload-4711-0" of a process that lives.
bool is_upload_of_living(std::string_view name) {
  pid_t process = 0;
  return take_text(name, ".ffkit-upload-") && take_number(name, process) && process > 0 &&
         is_running(process);
}

// A folder of the data set: its own, or that of a split.
struct LookedAt {
  std::string folder;
  bool is_unfinished = false;  // it, or the one above it, is marked
  bool is_in_use = false;
  std::vector<ListedObject> objects;
};

class Search {
 public:
  explicit Search(const fs::path& place)
      : place_(Place(place).in_store().address()), store_(store_of(place_)) {}

  Leftovers run() {
    LookedAt top = look_at(place_, nullptr);
    const Listing listing = store_->list(place_, /*recursive=*/false);
    if (top.objects.empty() && listing.folders.empty()) {
      throw error_at(Place(place_).shown(), ErrorCode::not_found,
                     "the folder does not exist or is empty")
          .with_subject(ErrorSubject::dataset)
          .with_remedy("give the folder of a data set or of a split");
    }
    add_files(top);
    folders_.push_back(top);
    for (const std::string& folder : listing.folders) {
      if (is_part_folder(folder)) {
        parts_.push_back(folder);
        add_part(folder, top);
        continue;
      }
      LookedAt below = look_at(folder, &top);
      // Folders of other things are not looked at: no name of ffkit's is in them.
      const bool is_own =
          below.is_unfinished || std::ranges::any_of(below.objects, [](const ListedObject& object) {
            return is_own_name(last_name(object.address));
          });
      if (is_own) add_files(below);
      folders_.push_back(std::move(below));
    }
    add_uploads();
    std::ranges::sort(found_.found, {}, &Leftover::path);
    return std::move(found_);
  }

  // Folders of the parts that a conversion to a store is made in.
  const std::vector<std::string>& parts() const { return parts_; }

 private:
  LookedAt look_at(const std::string& folder, const LookedAt* above) const {
    LookedAt looked{.folder = folder, .objects = store_->list(folder, false).objects};
    const bool is_marked = std::ranges::any_of(looked.objects, [](const ListedObject& object) {
      return is_marker_name(last_name(object.address));
    });
    looked.is_unfinished = is_marked || (above != nullptr && above->is_unfinished);
    looked.is_in_use = (is_marked && is_in_use(folder)) || (above != nullptr && above->is_in_use);
    return looked;
  }

  // Of the manifest in the folder; nothing where there is none.
  static std::optional<std::set<std::string>> named_in(const LookedAt& looked) {
    const std::string manifest = looked.folder + "/" + kManifestFile;
    if (std::ranges::find(looked.objects, manifest, &ListedObject::address) ==
        looked.objects.end()) {
      return std::nullopt;
    }
    std::set<std::string> names = {kManifestFile};
    for (const ManifestShard& shard : read_manifest(Place(manifest).path_on_disk()).shards) {
      names.insert(shard.file);
    }
    return names;
  }

  void add_files(const LookedAt& looked) {
    const std::optional<std::set<std::string>> named = named_in(looked);
    for (const ListedObject& object : looked.objects) {
      const std::string name = last_name(object.address);
      Leftover leftover{.path = Place(object.address).path_on_disk(),
                        .num_bytes = object.facts.num_bytes,
                        .is_in_use = looked.is_in_use};
      if (named && named->contains(name)) {
        ++found_.num_in_manifests;
        continue;
      }
      if (is_marker_name(name)) {
        leftover.kind = Leftover::Kind::marker;
      } else if (looked.is_unfinished && (is_shard_name(name) || is_temporary_name(name))) {
        leftover.kind = Leftover::Kind::work;
      } else if (named && is_shard_name(name)) {
        leftover.kind = Leftover::Kind::shard;
      } else if (is_temporary_name(name)) {
        leftover.kind = Leftover::Kind::temporary;
      } else {
        // Shards without a manifest and a marker may be read by their own names.
        if (name != kReportFile) found_.others.push_back(leftover.path);
        continue;
      }
      found_.found.push_back(std::move(leftover));
    }
  }

  // All that is in the folder of a part. Where the data set is finished, a merge was killed before
  // it had removed the folder.
  void add_part(const std::string& folder, const LookedAt& top) {
    for (const ListedObject& object : store_->list(folder, /*recursive=*/true).objects) {
      const bool is_marker = is_marker_name(last_name(object.address));
      found_.found.push_back({.kind = !top.is_unfinished ? Leftover::Kind::temporary
                                      : is_marker        ? Leftover::Kind::marker
                                                         : Leftover::Kind::work,
                              .path = Place(object.address).path_on_disk(),
                              .num_bytes = object.facts.num_bytes});
    }
  }

  void add_uploads() {
    std::vector<UnfinishedUpload> uploads;
    try {
      uploads = store_->list_uploads(place_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) {
        throw;
      }
      found_.notes.push_back(fmt::format("{}: cannot look for unfinished uploads: {}",
                                         Place(place_).shown(), error.message()));
      return;
    }
    for (const UnfinishedUpload& upload : uploads) {
      const std::string name = last_name(upload.address);
      const std::string folder = upload.address.substr(0, upload.address.size() - name.size() - 1);
      const auto looked = std::ranges::find(folders_, folder, &LookedAt::folder);
      const bool is_below = folder == place_ || folder.substr(0, folder.rfind('/')) == place_;
      const bool is_own =
          is_own_name(name) || name == kReportFile || Place(upload.address).is_on_disk();
      if (!is_below || !is_own) {
        found_.others.push_back(Place(upload.address).path_on_disk());
        continue;
      }
      const LookedAt& of = looked == folders_.end() ? folders_.front() : *looked;
      found_.found.push_back(
          {.kind = of.is_unfinished ? Leftover::Kind::work : Leftover::Kind::upload,
           .path = Place(upload.address).path_on_disk(),
           .num_bytes = upload.num_bytes,
           .upload_id = upload.id,
           .since = upload.begun,
           .is_in_use = of.is_in_use || is_upload_of_living(name)});
    }
  }

  const std::string place_;
  const std::shared_ptr<ObjectStore> store_;
  std::vector<LookedAt> folders_;
  std::vector<std::string> parts_;
  Leftovers found_;
};

}  // namespace

Leftovers find_leftovers(const fs::path& place) {
  return Search(place).run();
}

RemovedLeftovers remove_leftovers(const fs::path& place, bool unfinished,
                                  const std::function<void(const std::string&)>& note) {
  const std::string address = Place(place).in_store().address();
  const std::shared_ptr<ObjectStore> store = store_of(address);
  std::vector<std::string> parts;
  const auto look = [&] {
    Search search(place);
    Leftovers found = search.run();
    parts = search.parts();
    return found;
  };
  Leftovers leftovers = look();
  // While these are held, no conversion begins or goes on there.
  std::deque<StoreClaim> claims;
  // A conversion to a folder has a lock, which the search has looked at; the parts in one have not.
  if (unfinished && (!Place(address).is_on_disk() || !parts.empty()) &&
      std::ranges::any_of(leftovers.found, &Leftover::is_of_unfinished)) {
    claims.emplace_back(address, note, std::function<void()>());
    for (const std::string& part : parts) {
      claims.emplace_back(part, note, std::function<void()>());
    }
    leftovers = look();
  }
  RemovedLeftovers removed;
  // Markers last: when this ends early, what is left is still known as unfinished.
  std::ranges::stable_sort(leftovers.found, {}, [](const Leftover& leftover) {
    return leftover.kind == Leftover::Kind::marker;
  });
  for (const Leftover& leftover : leftovers.found) {
    // With the claims, it is this process that is seen.
    if ((leftover.is_in_use && claims.empty()) || (leftover.is_of_unfinished() && !unfinished))
      continue;
    const std::string file = Place(leftover.path).in_store().address();
    // Our own claims end with this function.
    if (!claims.empty() && StoreClaim::is_claim(last_name(file))) continue;
    if (leftover.upload_id.empty()) {
      store->remove(file);
    } else {
      store->abort_upload({.address = file, .id = leftover.upload_id, .begun = {}});
    }
    ++removed.num_removed;
    removed.num_bytes += leftover.num_bytes;
  }
  return removed;
}

}  // namespace ffkit
