#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/enum_names.h>

#include "base/make_error.h"
#include "data/data_sets.h"
#include "serve/site.h"

namespace ffkit::serve {
namespace {

constexpr EnumName<DuplicateSearch::State> kStateNames[] = {
    {DuplicateSearch::State::none, "none"},
    {DuplicateSearch::State::running, "running"},
    {DuplicateSearch::State::done, "done"},
    {DuplicateSearch::State::failed, "failed"}};

Json group_json(const SiteState& state, const Duplicates& duplicates, int64_t number) {
  const DuplicateGroup& group = duplicates.groups()[static_cast<size_t>(number)];
  Json records = Json::array();
  for (const DuplicateRecord& record : group.records) {
    const ServedSplit& split = state.set.splits[static_cast<size_t>(record.split)];
    Json json = {{"split", split.name()}, {"record", record.record},     {"class_name", nullptr},
                 {"label", nullptr},      {"distance", record.distance}, {"exact", record.exact}};
    if (split.has_labels()) {
      const int64_t label = label_in(*split.columns().get("label"), record.record);
      const std::string readable = class_name_of(split.whole().manifest(), label);
      json["label"] = label;
      json["class_name"] = readable.empty() ? class_of(split.whole().manifest(), label) : readable;
    }
    records.push_back(std::move(json));
  }
  return {
      {"group", number}, {"exact", group.exact}, {"across", group.across}, {"records", records}};
}

Json split_counts(const DuplicateSplit& split, const Duplicates& duplicates) {
  Json also = Json::object();
  for (size_t i = 0; i < split.num_also_in.size(); ++i) {
    also[duplicates.splits()[i].name] = split.num_also_in[i];
  }
  const HashCounts& counts = split.counts;
  return {{"name", split.name},
          {"field", split.field},
          {"num_records", counts.num_records},
          {"num_pictures", counts.num_pictures},
          {"num_plain", counts.num_plain},
          {"num_undecodable", counts.num_undecodable},
          {"num_null", counts.num_null},
          {"num_damaged", counts.num_damaged},
          {"problems", counts.problems},
          {"also_in", also}};
}

}  // namespace

http::Response answer_confusion(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  if (!split.findings || split.findings->kind() != "classes") {
    throw error_of(ErrorCode::not_found, "there are no predicted classes for the split '{}'",
                   split.name());
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;
  int64_t num_found = 0;
  int64_t num_right = 0;
  int64_t num_unlabelled = 0;
  for (int64_t record = 0; record < split.whole().num_records(); ++record) {
    const auto finding = split.findings->find(record);
    if (!finding) continue;
    ++num_found;
    if (!finding->is_right) {
      ++num_unlabelled;
      continue;
    }
    ++cells[{finding->truth, finding->found}];
    if (*finding->is_right) ++num_right;
  }
  Json list = Json::array();
  for (const auto& [cell, count] : cells) {
    list.push_back({cell.first, cell.second, count});
  }
  Json classes = class_list(split.whole().manifest());
  for (const std::string& name : split.findings->classes()) {
    classes.push_back({{"id", name}, {"name", name}});
  }
  const int64_t num_known = num_found - num_unlabelled;
  return json_response(
      {{"classes", classes},
       {"cells", list},
       {"num_found", num_found},
       {"num_right", num_right},
       {"num_unlabelled", num_unlabelled},
       {"accuracy", num_known == 0 ? Json() : Json(double(num_right) / double(num_known))},
       {"note", split.findings->note()}});
}

http::Response answer_duplicates(SiteState& state, const http::Request& request) {
  const int64_t from = request.number("from", 0, 0, std::numeric_limits<int64_t>::max());
  const int64_t count = request.number("count", 50, 0, 500);
  Json json = {{"state", name_of(kStateNames, state.search->state())},
               {"done", state.search->share_done()},
               {"message", state.search->message()},
               {"num_groups", 0},
               {"num_across", 0},
               {"groups", Json::array()},
               {"splits", Json::array()},
               {"notes", Json::array()}};
  const auto duplicates = state.duplicates();
  if (!duplicates) return json_response(json);
  json["num_groups"] = duplicates->groups().size();
  json["num_across"] = duplicates->num_across();
  json["notes"] = duplicates->notes();
  const int64_t end =
      request.flag("across") ? duplicates->num_across() : std::ssize(duplicates->groups());
  for (int64_t i = from; i < end && i - from < count; ++i) {
    json["groups"].push_back(group_json(state, *duplicates, i));
  }
  for (const DuplicateSplit& split : duplicates->splits()) {
    json["splits"].push_back(split_counts(split, *duplicates));
  }
  return json_response(json);
}

http::Response answer_duplicates_start(SiteState& state, const http::Request& request) {
  state.search->start();
  return answer_duplicates(state, request);
}

}  // namespace ffkit::serve
