#include "serve/detections.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"
#include "views/record_marks.h"

namespace ffkit::serve {
namespace {

using Id = std::variant<int64_t, std::string>;

constexpr double kMinOverlap = 0.5;

std::optional<Id> id_of(const nlohmann::json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end()) return std::nullopt;
  if (at->is_number_integer()) return at->get<int64_t>();
  if (at->is_string()) return at->get<std::string>();
  return std::nullopt;
}

std::map<Id, int64_t> records_of(const Dataset& split) {
  std::map<Id, int64_t> records;
  const Field& field = split.schema().fields[split.schema().require("image_id")];
  int64_t record = 0;
  if (field.type == FieldType::string) {
    for (std::string& id : split.string_column("image_id"))
      records.emplace(std::move(id), record++);
  } else {
    for (const int64_t id : split.int_column("image_id")) records.emplace(id, record++);
  }
  return records;
}

double common_area(const SheetBox& a, const SheetBox& b) {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}

// Intersection over union.
double overlap(const SheetBox& a, const SheetBox& b) {
  const double both = common_area(a, b);
  return both > 0 ? both / (a.width * a.height + b.width * b.height - both) : 0;
}

struct Truth {
  std::vector<SheetBox> boxes;
  std::vector<SheetBox> crowds;
};

Truth truth_of(const Dataset& split, const RecordView& record) {
  Truth truth{.boxes = marked_boxes(split, record), .crowds = {}};
  const int at = split.schema().index_of("iscrowd");
  if (at < 0 || record.is_null(static_cast<size_t>(at))) return truth;
  const TensorView crowd = record.tensor(static_cast<size_t>(at));
  if (crowd.dtype != DType::u8 || crowd.data.size() != truth.boxes.size()) return truth;
  const std::vector<SheetBox> all = std::exchange(truth.boxes, {});
  for (size_t i = 0; i < all.size(); ++i) {
    (crowd.data[i] == std::byte{0} ? truth.boxes : truth.crowds).push_back(all[i]);
  }
  return truth;
}

// Whether half of the box lies in a crowd of its class: then it is no mistake.
bool is_in_crowd(const SheetBox& box, const std::vector<SheetBox>& crowds) {
  return std::ranges::any_of(crowds, [&](const SheetBox& crowd) {
    return crowd.class_number == box.class_number &&
           common_area(crowd, box) >= kMinOverlap * box.width * box.height;
  });
}

}  // namespace

bool can_have_detections(const Schema& schema) {
  const int id = schema.index_of("image_id");
  return schema.index_of("boxes") >= 0 && schema.index_of("labels") >= 0 && id >= 0 &&
         schema.fields[static_cast<size_t>(id)].column;
}

std::vector<std::vector<Detection>> read_detections(const Dataset& split,
                                                    const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) {
    throw error_at(file, ErrorCode::corrupt,
                   "is no JSON array of detections, [{{image_id, category_id, bbox, score}}]");
  }
  const std::map<Id, int64_t> records = records_of(split);
  const Manifest& manifest = split.manifest();
  std::vector<std::vector<Detection>> out(static_cast<size_t>(split.num_records()));
  for (size_t i = 0; i < json.size(); ++i) {
    const nlohmann::json& entry = json[i];
    const auto image = id_of(entry, "image_id");
    const auto category = id_of(entry, "category_id");
    const auto box = entry.find("bbox");
    const auto score = entry.find("score");
    const bool is_whole =
        image && category && box != entry.end() && box->is_array() && box->size() == 4 &&
        std::ranges::all_of(*box, [](const nlohmann::json& value) { return value.is_number(); }) &&
        score != entry.end() && score->is_number();
    if (!is_whole) {
      throw error_at(file, ErrorCode::corrupt,
                     "entry {} lacks image_id, category_id, bbox of four numbers or score", i);
    }
    const auto record = records.find(*image);
    if (record == records.end()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "entry {} is of the picture {}, which the split '{}' does not have", i,
                     printable(to_string(*image)), manifest.split);
    }
    const auto found = std::ranges::find(manifest.class_ids, *category);
    if (found == manifest.class_ids.end()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "entry {} is of the category {}, which the split '{}' does not have", i,
                     printable(to_string(*category)), manifest.split);
    }
    const auto label = found - manifest.class_ids.begin();
    const auto value = score->get<double>();
    out[static_cast<size_t>(record->second)].push_back(
        {.box = {.x = (*box)[0].get<double>(),
                 .y = (*box)[1].get<double>(),
                 .width = (*box)[2].get<double>(),
                 .height = (*box)[3].get<double>(),
                 .class_number = label,
                 .name = fmt::format("{} {:.2f}", manifest.classes.at(static_cast<size_t>(label)),
                                     value),
                 .is_prediction = true},
         .score = value});
  }
  return out;
}

int64_t detection_mistakes(const Dataset& split, int64_t record,
                           const std::vector<Detection>& detections, double min_score) {
  std::vector<std::byte> bytes;
  split.read(record, bytes);
  const RecordView view(split.schema(), bytes, split.name(record));
  const auto [truth, crowds] = truth_of(split, view);
  std::vector<const Detection*> found;
  for (const Detection& detection : detections) {
    if (detection.score >= min_score) found.push_back(&detection);
  }
  std::ranges::stable_sort(found, std::greater(), [](const auto* item) { return item->score; });
  std::vector<bool> is_matched(truth.size());
  int64_t num_matched = 0;
  int64_t num_ignored = 0;
  for (const Detection* detection : found) {
    double best = kMinOverlap;
    size_t match = truth.size();
    for (size_t i = 0; i < truth.size(); ++i) {
      if (is_matched[i] || truth[i].class_number != detection->box.class_number) continue;
      const double share = overlap(truth[i], detection->box);
      if (share >= best) {
        best = share;
        match = i;
      }
    }
    if (match == truth.size()) {
      if (is_in_crowd(detection->box, crowds)) ++num_ignored;
      continue;
    }
    is_matched[match] = true;
    ++num_matched;
  }
  return std::ssize(found) + std::ssize(truth) - 2 * num_matched - num_ignored;
}

}  // namespace ffkit::serve
