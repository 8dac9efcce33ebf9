#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include <ffkit/base/version.h>
#include <ffkit/format/filter.h>
#include <ffkit/image/image_options.h>

#include "base/make_error.h"
#include "data/data_sets.h"
#include "serve/served_set.h"
#include "serve/site.h"
#include "text/output.h"

namespace ffkit::serve {
namespace {

constexpr int64_t kMaxRows = 1000;

Json split_json(const ServedSplit& split) {
  const Manifest& manifest = split.whole().manifest();
  Json fields = Json::array();
  for (const Field& field : split.schema().fields) {
    fields.push_back({{"name", field.name},
                      {"type", to_string(field.type)},
                      {"text", describe_field(field)},
                      {"word", filter_word(field.name)},
                      {"column", field.column}});
  }
  Json pictures = Json::array();
  for (const size_t i : split.picture_fields()) pictures.push_back(split.schema().fields[i].name);
  // Pictures of numbers have the names that the converters give them; any picture may be chosen.
  Json masks = Json::array();
  for (const char* name : {"mask", "semantic", "instances", "panoptic"}) {
    const int at = split.schema().index_of(name);
    const bool is_picture =
        at >= 0 && split.schema().fields[static_cast<size_t>(at)].type == FieldType::image;
    if (is_picture) masks.push_back(name);
  }
  return {{"name", split.name()},
          {"kind", split.kind()},
          {"num_records", split.chosen().num_records()},
          {"is_whole", !split.chosen().is_subset()},
          {"num_bytes", manifest.file_bytes()},
          {"fingerprint", split.whole().fingerprint()},
          {"fields", fields},
          {"pictures", pictures},
          {"masks", masks},
          {"classes", split.has_labels() ? class_list(manifest) : Json()},
          {"orders", orders_of(split)},
          {"searched", searched_columns(split)},
          {"inside", fields_with_texts(split)},
          {"bars", bars_of(split)},
          {"vectors", vector_fields(split)},
          {"has_marks", split.has_marks()},
          {"warnings", split.whole().warnings()}};
}

// Ids of some records, without the whole column of them unless it is in memory or a record cannot
// be read: a million ids would be read for the first hundred.
class IdReader {
 public:
  explicit IdReader(const ServedSplit& split) : split_(split) {
    if (split.id_field() < 0) return;
    column_ = split.columns().get_if_kept(field().name);
  }
  // `problem`: why the record cannot be read.
  Json of(int64_t record, Json& problem) {
    if (split_.id_field() < 0) return nullptr;
    if (column_) return value_json(*column_, record);
    std::vector<std::byte> bytes;
    const auto i = static_cast<size_t>(split_.id_field());
    try {
      if (!split_.whole().read_field(record, i, bytes)) return "";  // as the column has it
      return FieldView(field(), bytes, false).string();
    } catch (const Error& error) {
      problem = error.text(OptionStyle::command_line);
    }
    column_ = split_.columns().get(field().name);
    return value_json(*column_, record);
  }

 private:
  const Field& field() const {
    return split_.schema().fields[static_cast<size_t>(split_.id_field())];
  }
  const ServedSplit& split_;
  std::shared_ptr<const Column> column_;
};

void add_finding(const Finding& finding, Json& row) {
  row["found"] = finding.found < 0 ? Json() : Json(finding.found);
  row["found_name"] = finding.found_name.empty() ? Json() : Json(finding.found_name);
  row["score"] = number_or_null(finding.score);
  row["is_right"] = finding.is_right ? Json(*finding.is_right) : Json();
  row["error"] = number_or_null(finding.error);
}

}  // namespace

http::Response json_response(const Json& json) {
  return {.content_type = "application/json", .body = json_text(json)};
}

http::Response kept_response(std::string_view content_type, std::span<const std::byte> bytes) {
  return {.content_type = std::string(content_type),
          .body = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
          .may_be_kept = true};
}

Json class_list(const Manifest& manifest) {
  Json list = Json::array();
  for (size_t i = 0; i < manifest.classes.size(); ++i) {
    const auto label = static_cast<int64_t>(i);
    const std::string name = class_name_of(manifest, label);
    const std::string& id = manifest.classes[i];
    list.push_back({{"id", id}, {"name", name.empty() ? id : name}});
  }
  return list;
}

void add_class(const Manifest& manifest, int64_t label, Json& json) {
  const std::string id = class_of(manifest, label);
  const std::string name = class_name_of(manifest, label);
  json["class"] = id.empty() ? Json() : Json(id);
  json["class_name"] = name.empty() ? Json() : Json(name);
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

http::Response answer_set(SiteState& state, const http::Request&) {
  Json splits = Json::array();
  Json results;
  for (const ServedSplit& split : state.set.splits) {
    splits.push_back(split_json(split));
    if (split.findings) {
      results = {{"file", state.set.results_file},
                 {"kind", split.findings->kind()},
                 {"split", split.name()},
                 {"error_name", split.findings->error_name()},
                 {"other", split.others ? Json(state.set.others_file) : Json()}};
    }
  }
  return json_response({{"path", state.set.path},
                        {"version", FFKIT_VERSION},
                        {"splits", splits},
                        {"first", state.set.first_split().name()},
                        {"results", results},
                        {"transforms", transform_signatures()},
                        {"transform", state.set.run.text},
                        {"left_out", state.set.run.left_out}});
}

http::Response answer_find(SiteState& state, const http::Request& request) {
  const auto start = std::chrono::steady_clock::now();
  const ServedSplit& split = state.set.split_of(request);
  const auto choice = state.choice(split, parse_choice(request));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return json_response({{"num_records", choice->size()},
                        {"total", split.chosen().num_records()},
                        {"num_unread", choice->num_unread},
                        {"seconds", seconds.count()}});
}

http::Response answer_rows(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const ChoiceText text = parse_choice(request);
  const auto choice = state.choice(split, text);
  const int64_t from = request.number("from", 0, 0, std::numeric_limits<int64_t>::max());
  const int64_t count = request.number("count", 100, 0, kMaxRows);
  const Manifest& manifest = split.whole().manifest();
  std::shared_ptr<const Column> labels;
  std::shared_ptr<const Column> sorted;
  std::vector<std::pair<std::string, std::shared_ptr<const Column>>> columns;
  if (split.has_labels()) labels = split.columns().get("label");
  IdReader ids(split);
  if (split.schema().index_of(text.sort) >= 0) sorted = split.columns().get(text.sort);
  for (const Field& field : split.schema().fields) {
    if (!field.column || !request.flag("columns")) continue;
    columns.emplace_back(field.name, split.columns().get(field.name));
  }
  Json rows = Json::array();
  for (int64_t i = from; i < choice->size() && i - from < count; ++i) {
    const int64_t record = choice->at(i);
    Json problem;
    Json row = {{"record", record},
                {"id", ids.of(record, problem)},
                {"label", labels ? value_json(*labels, record) : Json()},
                {"class", nullptr},
                {"class_name", nullptr},
                {"num_bytes", nullptr},
                {"found", nullptr},
                {"found_name", nullptr},
                {"score", nullptr},
                {"value", sorted ? value_json(*sorted, record) : Json()},
                {"problem", problem}};
    if (const auto bytes = stored_bytes_of(split, record)) row["num_bytes"] = *bytes;
    if (labels) add_class(manifest, label_in(*labels, record), row);
    for (const auto& [name, column] : columns) row["columns"][name] = value_json(*column, record);
    if (const auto finding = split.findings ? split.findings->find(record) : std::nullopt) {
      add_finding(*finding, row);
      const bool is_order = std::ranges::count(split.findings->orders(), text.sort) > 0;
      if (!sorted && is_order) row["value"] = number_or_null(value_of(*finding, text.sort));
    }
    if (const auto finding = split.others ? split.others->find(record) : std::nullopt) {
      add_finding(*finding, row["other"]);
    }
    rows.push_back(std::move(row));
  }
  return json_response({{"num_records", choice->size()},
                        {"num_unread", choice->num_unread},
                        {"from", from},
                        {"rows", rows}});
}

http::Response answer_position(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const auto choice = state.choice(split, parse_choice(request));
  const auto position = choice->position_of(ServedSet::record_of(split, request));
  Json json = {{"position", nullptr},
               {"previous", nullptr},
               {"next", nullptr},
               {"num_records", choice->size()}};
  if (position) {
    json["position"] = *position;
    if (*position > 0) json["previous"] = choice->at(*position - 1);
    if (*position + 1 < choice->size()) json["next"] = choice->at(*position + 1);
  }
  return json_response(json);
}

http::Response answer_list(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const auto choice = state.choice(split, parse_choice(request));
  const std::string as = request.text("as", "numbers");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t first = std::min(request.number("from", 0, 0, kMost), choice->size());
  const int64_t end =
      first + std::min(request.number("count", kMost, 0, kMost), choice->size() - first);
  http::Response response;
  if (as == "numbers") {
    for (int64_t i = first; i < end; ++i) {
      response.body += fmt::format("{}\n", choice->at(i));
    }
    response.file_name = split.name() + "-records.txt";
  } else if (as == "json") {
    Json list = Json::array();
    for (int64_t i = first; i < end; ++i) list.push_back(choice->at(i));
    response = json_response({{"split", split.name()}, {"records", list}});
    response.file_name = split.name() + "-records.json";
  } else if (as == "ids") {
    if (split.id_field() < 0) {
      throw error_of(ErrorCode::invalid_argument,
                     "the records of the split '{}' have no ids; use numbers", split.name());
    }
    const auto& name = split.schema().fields[static_cast<size_t>(split.id_field())].name;
    const auto ids = split.columns().get(name);
    for (int64_t i = first; i < end; ++i) {
      const std::string_view id = std::get<TextColumn>(*ids).at(choice->at(i));
      if (id.find('\n') != std::string_view::npos) {
        throw error_of(ErrorCode::invalid_argument,
                       "the id of record {} has a line break, which a list of ids cannot have; use "
                       "numbers",
                       choice->at(i));
      }
      response.body.append(id).append("\n");
    }
    response.file_name = split.name() + "-ids.txt";
  } else {
    throw Error(ErrorCode::invalid_argument, "'as' must be numbers, ids or json");
  }
  return response;
}

}  // namespace ffkit::serve
