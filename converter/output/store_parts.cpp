#include "output/store_parts.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "output/destination.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

// In the plan of the marker, between a word that identifies the conversion and "8 parts".
constexpr std::string_view kInParts = " in ";
// Of folders that are there for an instant; no listing has names that begin so.
constexpr std::string_view kUploadPrefix = ".ffkit-upload-";  // storage/stores/file_store.cpp
constexpr std::string_view kUnseenPrefix = ".ffkit-upload-look-";

// Nothing where the folder has no marker.
std::optional<UnfinishedMarker> marker_of(const fs::path& folder) {
  try {
    return read_unfinished_marker(folder);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return std::nullopt;
    throw;
  }
}

// Their names, whatever is in them.
std::vector<std::string> folders_of_parts(const fs::path& data_set) {
  std::vector<std::string> names = names_in_folder(data_set).folders;
  std::erase_if(names, [](const std::string& name) { return !is_part_folder(name); });
  return names;
}

// 0 where no number stands there.
int64_t number_at(const std::string& text, size_t begin) {
  int64_t number = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return number;
}

// A machine that has mounted a folder (NFS) may remember for a minute what was in it, unless it
// changes the folder itself. Returns false where nothing is remembered.
bool forget_cached_names(const fs::path& folder) {
  if (!Place(folder).is_on_disk()) return false;
  const fs::path unseen =
      Place(folder).path_on_disk() / fmt::format("{}{}", kUnseenPrefix, random_id());
  std::error_code ignored;
  if (fs::create_directory(unseen, ignored)) fs::remove(unseen, ignored);
  return true;
}

// What processes that were killed while they wrote a small file, or looked, have left in the folder
// of a data set, to which others may write. By the clock of the disk: the caller's claim is new.
void remove_unseen(const fs::path& folder) {
  constexpr std::chrono::minutes kLongest{1};
  std::vector<fs::path> files;
  fs::file_time_type now = fs::file_time_type::min();
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (StoreClaim::is_claim(name)) now = std::max(now, entry.last_write_time(ignored));
    if (name.starts_with(kUnseenPrefix)) fs::remove(entry.path(), ignored);
    if (name.starts_with(kUploadPrefix)) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    const fs::file_time_type written = fs::last_write_time(file, ignored);
    if (!ignored && written + kLongest < now) fs::remove(file, ignored);
  }
}

}  // namespace

fs::path folder_of_part(const fs::path& data_set, const ConvertPart& part) {
  return data_set / fmt::format("{}{}-of-{}", kPartPrefix, part.index, part.count);
}

void require_parts(const fs::path& data_set, const Listing& there, bool has_marker) {
  if (has_marker) {
    if (read_unfinished_marker(data_set).kind == kParts) return;
    throw error_at(data_set, ErrorCode::invalid_argument,
                   "contains an unfinished data set that is not made in parts; finish it, remove "
                   "it or give another folder");
  }
  const bool has_nothing_else = std::ranges::all_of(there.folders, is_part_folder) &&
                                std::ranges::all_of(there.objects, [](const ListedObject& object) {
                                  return StoreClaim::is_claim(last_name(object.address));
                                });
  if (has_nothing_else) return;
  // Parts whose marker somebody has removed.
  if (std::ranges::any_of(there.folders, is_part_folder) && list_splits(data_set).empty()) return;
  throw folder_is_used(data_set, Destination::Kind::conversion);
}

void begin_parts(const fs::path& data_set, const ConvertPart& part, const std::string& plan) {
  const UnfinishedMarker marker{.kind = kParts,
                                .plan = fmt::format("{}{}{} parts", plan, kInParts, part.count),
                                .command = "ffconvert merge " + Place(data_set).shown()};
  if (write_object_once(data_set / kUnfinishedMarker, to_text(marker))) return;
  // Machines may know the folder by different paths, which the command names.
  const UnfinishedMarker found = read_unfinished_marker(data_set);
  if (found.kind == marker.kind && found.plan == marker.plan) return;
  throw error_at(data_set, ErrorCode::invalid_argument,
                 "the folder contains parts of another conversion, because the source, an option, "
                 "the number of parts or the version of ffkit differs; give the same values as for "
                 "the other parts, or give another folder");
}

bool has_parts(const fs::path& data_set) {
  const fs::path place = Place(data_set).in_store().path();
  if (!has_object(place / kUnfinishedMarker)) return !folders_of_parts(place).empty();
  return read_unfinished_marker(place).kind == kParts;
}

bool has_rest_of_merge(const fs::path& data_set) {
  const NamesIn names = names_in_folder(data_set);
  return std::ranges::any_of(names.files, StoreClaim::is_claim) ||
         std::ranges::any_of(names.folders, is_part_folder);
}

fs::path place_of_part(const fs::path& destination, const ConvertOptions& options) {
  const ConvertPart& part = options.part;
  if (part.count > 1) {
    if (Place(destination).is_in_store()) return destination;
    const bool is_shared =
        !part.found_by.empty() || options.merge_when_complete || has_parts(destination);
    return is_shared ? Place(destination).in_store().path() : destination;
  }
  // One task of an array that was submitted again is alone in it, and a part by what is there.
  if (part.found_by.empty() && Place(destination).is_in_store()) return destination;
  const std::vector<std::string> folders = folders_of_parts(Place(destination).in_store().path());
  if (folders.empty() || !has_parts(destination)) return destination;
  const std::string& folder = folders.front();
  throw argument_error(
      "part",
      fmt::format(
          "{} contains parts of a conversion, such as {}, {}; give the number of the part ({}), or "
          "give another folder",
          destination.string(), folder,
          part.found_by.empty()
              ? std::string("but this command would make the whole data set")
              : fmt::format(
                    "but {} says process 1 of 1, so this command would make the whole data set",
                    part.found_by),
          option_set("part", "i/" + folder.substr(folder.rfind('-') + 1))));
}

int64_t num_parts(const fs::path& data_set) {
  const std::optional<UnfinishedMarker> marker = marker_of(data_set);
  if (marker && marker->kind == kParts) {
    const size_t at = marker->plan.rfind(kInParts);
    if (at != std::string::npos) return number_at(marker->plan, at + kInParts.size());
  }
  // Somebody has removed the marker: the names of the folders say it too.
  const std::vector<std::string> folders = folders_of_parts(data_set);
  if (folders.empty()) return 0;
  const auto count_of = [](const std::string& folder) {
    return number_at(folder, folder.rfind('-') + 1);
  };
  const int64_t count = count_of(folders.front());
  for (const std::string& folder : folders) {
    if (count_of(folder) == count) continue;
    throw error_at(data_set, ErrorCode::invalid_argument,
                   "the folder contains parts of different conversions, such as {} and {}; remove "
                   "the parts of the wrong conversion",
                   folders.front(), folder);
  }
  return count;
}

std::vector<PartThere> list_parts(const fs::path& data_set) {
  std::vector<PartThere> parts;
  const std::string suffix = fmt::format("-of-{}", num_parts(data_set));
  for (const std::string& name : folders_of_parts(data_set)) {
    // Killed before it was refused.
    if (!name.ends_with(suffix)) continue;
    const fs::path folder = data_set / name;
    const std::optional<UnfinishedMarker> marker = marker_of(folder);
    // A folder of file:// may be empty; one with a claim alone is of a part that begins.
    if (!marker && names_in_folder(folder).files.empty()) continue;
    PartThere& part = parts.emplace_back();
    part.folder = folder;
    part.is_finished = marker && marker->kind == kFinishedPart;
    part.command = marker ? marker->command : "";
    part.splits = list_splits(part.folder);
  }
  return parts;
}

int64_t num_finished_parts(const fs::path& data_set, int64_t count) {
  forget_cached_names(data_set);
  const std::string suffix = fmt::format("-of-{}", count);
  return std::ranges::count_if(folders_of_parts(data_set), [&](const std::string& name) {
    if (!name.ends_with(suffix)) return false;
    const auto is_finished = [&] {
      const std::optional<UnfinishedMarker> marker = marker_of(data_set / name);
      return marker && marker->kind == kFinishedPart;
    };
    if (is_finished()) return true;
    return forget_cached_names(data_set / name) && is_finished();
  });
}

void remove_parts(const fs::path& data_set, const std::vector<std::string>& splits) {
  const std::shared_ptr<ObjectStore> store = store_of(data_set.native());
  for (const std::string& name : folders_of_parts(data_set)) {
    const fs::path folder = data_set / name;
    for (const ListedObject& object : store->list(folder.native(), /*recursive=*/true).objects) {
      remove_file_at(object.address);
    }
    // A disk has folders of their own, and what a killed process was writing.
    if (Place(folder).is_on_disk()) fs::remove_all(Place(folder).path_on_disk());
  }
  if (!Place(data_set).is_on_disk()) return;
  remove_unseen(Place(data_set).path_on_disk());
  for (const std::string& split : splits) {
    for (const UnfinishedUpload& upload : store->list_uploads((data_set / split).native())) {
      store->abort_upload(upload);
    }
  }
}

}  // namespace ffkit
