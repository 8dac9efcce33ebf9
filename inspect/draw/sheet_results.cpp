#include "draw/sheet_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/pose/person_record.h>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

bool is_prediction(const Json& json) {
  return json.is_object() && json.contains("record") && json["record"].is_number_integer() &&
         json.contains("class") && json["class"].is_string() && json.contains("score") &&
         json["score"].is_number();
}

Json parse(const std::string& line) {
  return Json::parse(line, nullptr, /*allow_exceptions=*/false);
}

std::vector<std::string> ids_of(const Dataset& split) {
  const int at = split.schema().index_of("id");
  if (at < 0) return {};
  const Field& field = split.schema().fields[at];
  if (field.type != FieldType::string || !field.column) return {};
  return split.string_column("id");
}

SheetPoint point_of(const pose::Point3& root, const pose::Camera& camera, SheetPoint::Kind kind) {
  const pose::Point3 pixel = pose::camera_to_pixel(root, camera);
  return {.x = pixel[0], .y = pixel[1], .kind = kind};
}

}  // namespace

bool ClassResults::can_be(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) && is_prediction(parse(line));
}

ClassResults::ClassResults(const Dataset& split, const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  const std::vector<std::string> ids = ids_of(split);
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const Json json = parse(line);
    if (!is_prediction(json)) {
      throw error_at(file, ErrorCode::corrupt,
                     "line {} has no record, class and score of a picture", number);
    }
    const auto record = json["record"].get<int64_t>();
    const bool is_of_split = record >= 0 && record < split.num_records();
    const std::string id = json.value("id", std::string());
    if (!is_of_split || (!ids.empty() && !id.empty() && ids[record] != id)) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "line {} is of record {}, '{}', which {} does not have; give the split that "
                     "was predicted",
                     number, record, printable(id), split.path().string());
    }
    const Json label = json.value("label", Json());
    Found found{.name = json["class"].get<std::string>(),
                .label = label.is_string() ? label.get<std::string>() : "",
                .score = json["score"].get<double>()};
    if (json.contains("loss") && json["loss"].is_number()) found.loss = json["loss"].get<double>();
    if (!found_.emplace(record, std::move(found)).second) {
      throw error_at(file, ErrorCode::corrupt,
                     "line {} is of record {}, of which there was one before", number, record);
    }
    records_.push_back(record);
  }
}

std::vector<int64_t> ClassResults::wrong() const {
  std::vector<int64_t> out;
  for (const int64_t record : records_) {
    const Found& found = found_.at(record);
    if (!found.label.empty() && found.label != found.name) out.push_back(record);
  }
  std::ranges::stable_sort(
      out, [&](int64_t a, int64_t b) { return found_.at(a).score > found_.at(b).score; });
  return out;
}

const ClassResults::Found* ClassResults::find(int64_t record) const {
  const auto found = found_.find(record);
  return found == found_.end() ? nullptr : &found->second;
}

void ClassResults::add(int64_t record, SheetEntry& entry, Json& json) const {
  const Found* found = find(record);
  json["found_class"] = found == nullptr ? Json() : Json(found->name);
  json["score"] = found == nullptr ? Json() : Json(found->score);
  if (found == nullptr) return;
  entry.lines.push_back(fmt::format("found {}, {:.1f} %", found->name, 100 * found->score));
}

bool RootResults::can_be_of(const Schema& schema) {
  return schema.index_of(pose::person::kRootCamera) >= 0;
}

RootResults::RootResults(const Dataset& split, const std::filesystem::path& file)
    : truth_(pose::read_root_truth(split)),
      found_(pose::roots_of_persons(pose::read_root_results(file, truth_), truth_, file)),
      unit_(pose::length_unit(split.manifest())) {}

double RootResults::distance(int64_t record) const {
  const auto i = static_cast<size_t>(record);
  const pose::RootPerson& person = truth_.persons[i];
  if (!person.has_truth) return std::numeric_limits<double>::quiet_NaN();
  return pose::root_error(std::span(&found_[i], 1), std::span(&person.root, 1)).total;
}

void RootResults::add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const {
  const auto i = static_cast<size_t>(record);
  const pose::RootPerson& person = truth_.persons[i];
  const pose::Point3& found = found_[i];
  entry.crop = SheetBox{
      .x = person.box.x, .y = person.box.y, .width = person.box.width, .height = person.box.height};
  entry.boxes.clear();
  entry.points.clear();
  json["root"] = nullptr;
  json["found_root"] = found;
  json["distance"] = nullptr;
  std::string line = fmt::format("found at {:.4g}", found[2]);
  if (person.has_truth) {
    entry.points.push_back(point_of(person.root, person.camera, SheetPoint::Kind::true_root));
    entry.lines.push_back(fmt::format("root at {:.4g} {}", person.root[2], unit_));
    line += fmt::format(", off by {:.3g}", distance(record));
    json["root"] = person.root;
    json["distance"] = distance(record);
  }
  entry.points.push_back(point_of(found, person.camera, SheetPoint::Kind::found_root));
  entry.lines.push_back(line);
}

}  // namespace ffkit
