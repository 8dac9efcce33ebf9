#include "output/destination.h"

#include <algorithm>

#include <ffkit/format/dataset.h>

#include "base/make_error.h"
#include "output/own_names.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

// Whether a marker's folder holds what is made again from sources that are there.
bool is_quickly_made(const UnfinishedMarker& marker) {
  return marker.kind == to_string(Destination::Kind::merge) ||
         marker.kind == to_string(Destination::Kind::v1);
}

}  // namespace

int64_t WorkThere::num_shards() const {
  return std::ranges::count_if(files, [](const auto& name) { return name.ends_with(".ffr"); });
}

bool WorkThere::holds_work() const {
  return num_shards() > 0 || std::ranges::any_of(files, [](const auto& name) {
           return fs::path(name).filename() == kGatheredFile;
         });
}

Error folder_is_used(const fs::path& folder, Destination::Kind kind) {
  const auto error = [&folder](const std::string& message) {
    return error_at(folder, ErrorCode::invalid_argument, message);
  };
  if (kind == Destination::Kind::split && is_split_folder(folder)) {
    return error(
        "the folder already contains a split; remove the split, or give another name or folder");
  }
  const std::vector<std::string> splits = list_splits(folder);
  return error(splits.empty() ? "the folder is not empty; give a new or an empty folder"
                              : fmt::format("the folder already contains a data set (split '{}'); "
                                            "remove the data set or give another folder",
                                            splits.front()));
}

void Destination::refuse(const std::string& message) const {
  throw error_at(folder_, ErrorCode::invalid_argument, message);
}

std::string Destination::text_of_marker(const std::string& plan) const {
  return to_text(
      {.kind = std::string(to_string(claim_.kind)), .plan = plan, .command = claim_.command});
}

bool Destination::judge_found(const std::string& foreign, bool holds_work) const {
  if (!foreign.empty()) {
    refuse(
        fmt::format("the folder contains an unfinished conversion and other files, such as '{}'; "
                    "move the other files away or give another folder",
                    foreign));
  }
  if (claim_.unfinished == Unfinished::go_on && is_quickly_made(found_)) {
    refuse(
        fmt::format("the folder contains an unfinished result of 'ffconvert {}', not of this "
                    "conversion; run the command without {} to start again",
                    found_.kind, option_on("resume")));
  }
  // Cannot be continued.
  const bool is_of_split = claim_.kind == Kind::split && found_.kind == to_string(Kind::split);
  if (claim_.kind != Kind::conversion && !is_quickly_made(found_) && !is_of_split && holds_work) {
    refuse(fmt::format(
        "the folder contains an unfinished conversion; {}, or remove the folder, or "
        "give another folder",
        found_.command.empty()
            ? "finish the conversion with the program that started it and " + option_on("resume")
            : "finish the conversion with: " + found_.command));
  }
  return !found_unfinished_ || claim_.unfinished != Unfinished::go_on;
}

void Destination::require_usable(const fs::path& folder, Kind kind, const ConvertPart& part) {
  if (Place(folder).is_in_store()) return require_usable_address(folder, kind, part);
  require_usable_folder(folder, kind);
}

std::unique_ptr<Destination> Destination::claim(const fs::path& folder, Claim claim) {
  return Place(folder).is_in_store() ? claim_address(folder, std::move(claim))
                                     : claim_folder(folder, std::move(claim));
}

void Destination::note_start_over(const std::function<void(const std::string&)>& note,
                                  const fs::path& name) const {
  if (!started_over() || !note) return;
  const std::string& kind = found_.kind;
  note(fmt::format(
      "{}: an unfinished {} was found and removed; starting over", Place(name).shown(),
      kind == to_string(Kind::merge) || kind == to_string(Kind::split) ? kind : "conversion"));
}

fs::path Destination::report_path() const {
  return folder_ / kReportFile;
}

fs::path Destination::v1_meta_path() const {
  return folder_ / kV1MetaFile;
}

}  // namespace ffkit
