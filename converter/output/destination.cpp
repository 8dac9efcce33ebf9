#include "output/destination.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>

#include "base/make_error.h"
#include "output/destination_place.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kV1Meta = "meta.pkl";

// Whether a marker's folder holds what is made again from sources that are there.
bool is_quickly_made(const UnfinishedMarker& marker) {
  return marker.kind == word_of(Destination::Kind::merge) ||
         marker.kind == word_of(Destination::Kind::v1);
}

}  // namespace

const char* word_of(Destination::Kind kind) {
  switch (kind) {
    case Destination::Kind::conversion:
      return "conversion";
    case Destination::Kind::merge:
      return "merge";
    case Destination::Kind::v1:
      return "v1";
    case Destination::Kind::split:
      return "split";
  }
  return "";
}

bool is_name_in_split(const std::string& name) {
  const bool is_shard =
      (name.starts_with("shard-") || name.starts_with("PART_")) && name.ends_with(".ffr");
  return is_shard || name.ends_with(".tmp") || name == "manifest.json";
}

bool is_name_in_data_set(const std::string& name) {
  return name == kUnfinishedMarker || name == Destination::kReport || name == kV1Meta ||
         name.ends_with(".tmp");
}

Error folder_is_used(const fs::path& folder, Destination::Kind kind) {
  const auto error = [&folder](const std::string& message) {
    return error_at(folder, ErrorCode::invalid_argument, message);
  };
  if (kind == Destination::Kind::split && is_split_folder(folder)) {
    return error("already holds a split; remove it or give another name or folder");
  }
  const std::vector<std::string> splits = list_splits(folder);
  return error(splits.empty() ? "the folder is not empty; give a new or an empty one"
                              : fmt::format("already holds a data set (split '{}'); remove it or "
                                            "give another folder",
                                            splits.front()));
}

void DestinationPlace::refuse(const std::string& message) const {
  throw error_at(folder_, ErrorCode::invalid_argument, message);
}

bool DestinationPlace::judge_found(const fs::path& foreign, bool holds_work) const {
  if (!foreign.empty()) {
    refuse(
        fmt::format("holds an unfinished conversion, but also something else: '{}'; "
                    "move that away or give another folder",
                    foreign.string()));
  }
  if (claim_.unfinished == Unfinished::go_on && is_quickly_made(found_)) {
    refuse(
        fmt::format("holds the beginning of what 'ffconvert {}' makes, not of this conversion; "
                    "run without {} to start over",
                    found_.kind, option_on("resume")));
  }
  // Cannot be continued.
  const bool is_of_split = claim_.kind == Kind::split && found_.kind == word_of(Kind::split);
  if (claim_.kind != Kind::conversion && !is_quickly_made(found_) && !is_of_split && holds_work) {
    refuse(fmt::format("holds an unfinished conversion; {}, or remove the folder, or give another",
                       found_.command.empty()
                           ? "finish it by what began it, with " + option_on("resume")
                           : "finish it with: " + found_.command));
  }
  return !found_unfinished_ || claim_.unfinished != Unfinished::go_on;
}

void Destination::require_usable(const fs::path& folder, Kind kind, const ConvertPart& part) {
  if (Place(folder).is_in_store()) return require_usable_address(folder, kind, part);
  require_usable_folder(folder, kind);
}

Destination::Destination(const fs::path& folder, Claim claim)
    : place_(Place(folder).is_in_store() ? claim_address(folder, std::move(claim))
                                         : claim_folder(folder, std::move(claim))) {}

Destination::~Destination() = default;

const fs::path& Destination::folder() const {
  return place_->folder();
}

bool Destination::started_over() const {
  return place_->found_unfinished() && place_->claim().unfinished == Unfinished::remove;
}

bool Destination::goes_on() const {
  return place_->found_unfinished() && place_->claim().unfinished == Unfinished::go_on;
}

void Destination::note_start_over(const std::function<void(const std::string&)>& note,
                                  const fs::path& name) const {
  if (!started_over() || !note) return;
  const std::string& kind = place_->found().kind;
  note(fmt::format(
      "{}: an unfinished {} was found and removed; starting over", Place(name).shown(),
      kind == word_of(Kind::merge) || kind == word_of(Kind::split) ? kind : "conversion"));
}

fs::path Destination::shards_folder(const std::string& split) const {
  return place_->shards_folder(split);
}

void Destination::set_shards(std::vector<Shards> shards, const std::string& plan) {
  place_->set_shards(std::move(shards), plan);
}

int64_t Destination::num_shards() const {
  return place_->num_shards();
}

bool Destination::holds_work() const {
  return place_->holds_work();
}

bool Destination::is_finished() const {
  return place_->is_finished();
}

const std::string& Destination::found_plan() const {
  return place_->found().plan;
}

void Destination::set_plan(const std::string& plan) {
  place_->set_plan(plan);
}

fs::path Destination::report_path() const {
  return folder() / kReport;
}

fs::path Destination::v1_meta_path() const {
  return folder() / kV1Meta;
}

void Destination::require_held() {
  place_->require_held();
}

void Destination::commit() {
  place_->commit();
}

void Destination::keep() {
  place_->keep();
}

}  // namespace ffkit
