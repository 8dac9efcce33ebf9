#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include <ffkit/base/version.h>
#include <ffkit/image/transform_text.h>

#include "base/make_error.h"
#include "data/data_sets.h"
#include "serve/answers.h"
#include "text/fields.h"

namespace ffkit::serve {
namespace {

constexpr int64_t kMaxRows = 1000;
constexpr size_t kMaxBins = 50;

Json split_json(const ServedSplit& split) {
  const Manifest& manifest = split.whole().manifest();
  Json fields = Json::array();
  for (const Field& field : split.schema().fields) {
    fields.push_back({{"name", field.name},
                      {"type", to_string(field.type)},
                      {"text", describe_field(field)},
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
          {"has_marks", split.has_marks()},
          {"warnings", split.whole().warnings()}};
}

// The value of a column in a record.
Json value_json(const Column& column, int64_t record) {
  if (const auto* texts = std::get_if<TextColumn>(&column)) return texts->at(record);
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&column)) {
    return (*whole)[static_cast<size_t>(record)];
  }
  return number_or_null(number_in(column, record));
}

// Ids of some records, without the whole column of them unless it is in memory: a million ids would
// be read for the first hundred.
class IdReader {
 public:
  explicit IdReader(const ServedSplit& split) : split_(split) {
    if (split.id_field() < 0) return;
    column_ = split.columns().get_if_kept(field().name);
  }
  Json of(int64_t record) const {
    if (split_.id_field() < 0) return nullptr;
    if (column_) return value_json(*column_, record);
    std::vector<std::byte> bytes;
    const auto i = static_cast<size_t>(split_.id_field());
    if (!split_.whole().read_field(record, i, bytes)) return "";  // as the column has it
    return FieldView(field(), bytes, false).string();
  }

 private:
  const Field& field() const {
    return split_.schema().fields[static_cast<size_t>(split_.id_field())];
  }
  const ServedSplit& split_;
  std::shared_ptr<const Column> column_;
};

Json histogram_of_classes(const ServedSplit& split, const Choice& choice) {
  const auto labels = split.columns().get("label");
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < choice.size(); ++i) {
    ++counts[static_cast<int64_t>(number_in(*labels, choice.at(i)))];
  }
  Json bins = Json::array();
  for (const auto& [label, count] : counts) {
    Json bin = {{"label", label}, {"num_records", count}};
    add_class(split.whole().manifest(), label, bin);
    bins.push_back(std::move(bin));
  }
  return bins;
}

// Bins of even width. What is no number is left out.
Json histogram_of_numbers(const Column& column, const Choice& choice) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(choice.size()));
  for (int64_t i = 0; i < choice.size(); ++i) {
    const double value = number_in(column, choice.at(i));
    if (std::isfinite(value)) values.push_back(value);
  }
  Json bins = Json::array();
  if (values.empty()) return bins;
  const auto [low, high] = std::ranges::minmax(values);
  const bool is_flat = !(high > low);
  std::vector<int64_t> counts(is_flat ? 1 : kMaxBins);
  for (const double value : values) {
    const double place = is_flat ? 0 : (value - low) / (high - low) * double(kMaxBins);
    ++counts[std::min(static_cast<size_t>(place), counts.size() - 1)];
  }
  const double width = (high - low) / double(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    bins.push_back({{"first", low + width * double(i)},
                    {"last", i + 1 == counts.size() ? high : low + width * double(i + 1)},
                    {"num_records", counts[i]}});
  }
  return bins;
}

bool is_number_column(const ServedSplit& split, const std::string& name) {
  const int at = split.schema().index_of(name);
  if (at < 0) return false;
  const Field& field = split.schema().fields[static_cast<size_t>(at)];
  return field.column && field.type == FieldType::scalar;
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
                 {"error_name", split.findings->error_name()}};
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
  if (split.has_labels()) labels = split.columns().get("label");
  const IdReader ids(split);
  if (split.schema().index_of(text.sort) >= 0) sorted = split.columns().get(text.sort);
  Json rows = Json::array();
  for (int64_t i = from; i < choice->size() && i - from < count; ++i) {
    const int64_t record = choice->at(i);
    Json row = {{"record", record},
                {"id", ids.of(record)},
                {"label", labels ? value_json(*labels, record) : Json()},
                {"class", nullptr},
                {"class_name", nullptr},
                {"num_bytes", split.whole().locate(record).record.stored_bytes},
                {"found", nullptr},
                {"found_name", nullptr},
                {"score", nullptr},
                {"value", sorted ? value_json(*sorted, record) : Json()}};
    if (labels) {
      add_class(manifest, static_cast<int64_t>(number_in(*labels, record)), row);
    }
    if (const auto finding = split.findings ? split.findings->find(record) : std::nullopt) {
      row["found"] = finding->found < 0 ? Json() : Json(finding->found);
      row["found_name"] = finding->found_name.empty() ? Json() : Json(finding->found_name);
      row["score"] = number_or_null(finding->score);
      row["is_right"] = finding->is_right ? Json(*finding->is_right) : Json();
      row["error"] = number_or_null(finding->error);
      const bool is_order = std::ranges::count(split.findings->orders(), text.sort) > 0;
      if (!sorted && is_order) row["value"] = number_or_null(value_of(*finding, text.sort));
    }
    rows.push_back(std::move(row));
  }
  return json_response({{"num_records", choice->size()}, {"from", from}, {"rows", rows}});
}

http::Response answer_histogram(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  ChoiceText text = parse_choice(request);
  const std::string order = std::exchange(text.sort, "record");
  text.labels.clear();
  text.descending = false;
  const auto choice = state.choice(split, text);
  if (is_number_column(split, order) && order != "label") {
    return json_response(
        {{"field", order}, {"bins", histogram_of_numbers(*split.columns().get(order), *choice)}});
  }
  if (!split.has_labels()) return json_response({{"field", nullptr}, {"bins", Json::array()}});
  return json_response({{"field", "label"}, {"bins", histogram_of_classes(split, *choice)}});
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
  http::Response response;
  if (as == "numbers") {
    for (int64_t i = 0; i < choice->size(); ++i) {
      response.body += fmt::format("{}\n", choice->at(i));
    }
    response.file_name = split.name() + "-records.txt";
  } else if (as == "json") {
    Json list = Json::array();
    for (int64_t i = 0; i < choice->size(); ++i) list.push_back(choice->at(i));
    response = json_response({{"split", split.name()}, {"records", list}});
    response.file_name = split.name() + "-records.json";
  } else if (as == "ids") {
    if (split.id_field() < 0) {
      throw error_of(ErrorCode::invalid_argument,
                     "the records of the split '{}' have no ids; take their numbers", split.name());
    }
    const auto& name = split.schema().fields[static_cast<size_t>(split.id_field())].name;
    const auto ids = split.columns().get(name);
    for (int64_t i = 0; i < choice->size(); ++i) {
      const std::string_view id = std::get<TextColumn>(*ids).at(choice->at(i));
      if (id.find('\n') != std::string_view::npos) {
        throw error_of(ErrorCode::invalid_argument,
                       "the id of record {} has a line end, which a list of ids cannot have; take "
                       "numbers",
                       choice->at(i));
      }
      response.body.append(id).append("\n");
    }
    response.file_name = split.name() + "-ids.txt";
  } else {
    throw Error(ErrorCode::invalid_argument, "'as' is not numbers, ids or json");
  }
  return response;
}

}  // namespace ffkit::serve
