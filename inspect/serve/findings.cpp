#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/detection.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "draw/contact_sheet.h"
#include "draw/own_sheets.h"
#include "scenes/scene_view.h"
#include "serve/served_set.h"
#include "views/record_views.h"

namespace ffkit::serve {
namespace {

// A box in a picture as COCO's results files have them, [{image_id, category_id, bbox, score}].
struct Detection {
  SheetBox box;  // named by class and score
  double score = 0;
};

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

// Those with `min_score` or more, the highest score first.
template <typename Found>
std::vector<const Found*> best_first(const std::vector<Found>& all, double min_score) {
  std::vector<const Found*> found;
  for (const Found& one : all) {
    if (one.score >= min_score) found.push_back(&one);
  }
  std::ranges::stable_sort(found, std::greater(), [](const Found* one) { return one->score; });
  return found;
}

// For each of `found`, in their order, whether it gets one of `num_boxes` boxes of the truth that
// none before it has: the last one for which improves(found, box, best) is true, which sets `best`.
template <typename Found, typename Improves>
std::vector<bool> match_boxes(const std::vector<const Found*>& found, size_t num_boxes,
                              double least, const Improves& improves) {
  std::vector<bool> is_taken(num_boxes);
  std::vector<bool> has_box;
  for (const Found* one : found) {
    double best = least;
    size_t match = num_boxes;
    for (size_t i = 0; i < num_boxes; ++i) {
      if (!is_taken[i] && improves(*one, i, best)) match = i;
    }
    has_box.push_back(match < num_boxes);
    if (match < num_boxes) is_taken[match] = true;
  }
  return has_box;
}

// What was found without a box, and boxes that were not found.
int64_t num_unmatched(const std::vector<bool>& has_box, size_t num_boxes) {
  return std::ssize(has_box) + static_cast<int64_t>(num_boxes) -
         2 * std::ranges::count(has_box, true);
}

struct Truth {
  std::vector<SheetBox> boxes;
  std::vector<SheetBox> crowds;
};

Truth truth_of(const Dataset& split, const RecordView& record) {
  Truth truth{.boxes = marked_boxes(split, record), .crowds = {}};
  const auto crowd = tensor_in(split.schema(), record, "iscrowd");
  if (!crowd || crowd->dtype != DType::u8 || crowd->data.size() != truth.boxes.size()) return truth;
  const std::vector<SheetBox> all = std::exchange(truth.boxes, {});
  for (size_t i = 0; i < all.size(); ++i) {
    (crowd->data[i] == std::byte{0} ? truth.boxes : truth.crowds).push_back(all[i]);
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

// Whether records are pictures of COCO with boxes and an image_id.
bool can_have_detections(const Schema& schema) {
  const int id = schema.index_of("image_id");
  return schema.index_of("boxes") >= 0 && schema.index_of("labels") >= 0 && id >= 0 &&
         schema.fields[static_cast<size_t>(id)].column;
}

// The detections of each record of `split`, a whole one. Throws Error(not_found) without the file,
// Error(corrupt) for what is no such JSON, with the entry, and Error(invalid_argument) for pictures
// and categories that the split does not have.
std::vector<std::vector<Detection>> read_detections(const Dataset& split,
                                                    const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) {
    throw error_at(file, ErrorCode::corrupt,
                   "is not a JSON array of detections, [{{image_id, category_id, bbox, score}}]");
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
                     "entry {} has no image_id, category_id, bbox of four numbers or score", i);
    }
    const auto record = records.find(*image);
    if (record == records.end()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "entry {} names the picture {}, which the split '{}' does not have", i,
                     printable(to_string(*image)), manifest.split);
    }
    const auto found = std::ranges::find(manifest.class_ids, *category);
    if (found == manifest.class_ids.end()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "entry {} names the category {}, which the split '{}' does not have", i,
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

// Detections from `min_score` on that match no box of their class with an intersection of half of
// the union, and boxes that none matches: the best detections first, as COCO matches them. Boxes of
// crowds are not missed, and a detection of which half lies in one is no mistake.
int64_t detection_mistakes(const Dataset& split, int64_t record,
                           const std::vector<Detection>& detections, double min_score) {
  std::vector<std::byte> bytes;
  split.read(record, bytes);
  const RecordView view(split.schema(), bytes, split.name(record));
  const Truth truth = truth_of(split, view);
  const auto found = best_first(detections, min_score);
  const auto improves = [&](const Detection& detection, size_t i, double& best) {
    const SheetBox& other = truth.boxes[i];
    if (other.class_number != detection.box.class_number) return false;
    const double share = overlap(other, detection.box);
    if (!(share >= best)) return false;
    best = share;
    return true;
  };
  const std::vector<bool> has_box = match_boxes(found, truth.boxes.size(), kMinOverlap, improves);
  int64_t num_ignored = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!has_box[i] && is_in_crowd(found[i]->box, truth.crowds)) ++num_ignored;
  }
  return num_unmatched(has_box, truth.boxes.size()) - num_ignored;
}

class ClassFindings : public Findings {
 public:
  ClassFindings(const Dataset& split, const std::filesystem::path& file) : results_(split, file) {
    std::vector<std::string> classes = split.manifest().classes;
    if (classes.empty()) {
      std::set<std::string> names;
      for (const auto& [record, found] : results_.all()) {
        names.insert(found.name);
        if (!found.label.empty()) names.insert(found.label);
      }
      classes.assign(names.begin(), names.end());
      classes_ = classes;
    }
    for (size_t i = 0; i < classes.size(); ++i) {
      numbers_.emplace(classes[i], static_cast<int64_t>(i));
    }
  }

  [[nodiscard]] std::string_view kind() const override { return "classes"; }
  [[nodiscard]] std::vector<std::string> orders() const override { return {"score", "loss"}; }
  [[nodiscard]] std::string error_name() const override { return ""; }
  [[nodiscard]] std::vector<std::string> classes() const override { return classes_; }
  [[nodiscard]] std::string note() const override { return results_.disagreement(); }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const ClassResults::Found* found = results_.find(record);
    if (found == nullptr) return std::nullopt;
    Finding finding{.found = number_of(found->name),
                    .truth = number_of(found->label),
                    .found_name = found->name,
                    .score = found->score,
                    .loss = found->loss};
    if (!found->label.empty()) finding.is_right = found->label == found->name;
    return finding;
  }

 private:
  [[nodiscard]] int64_t number_of(const std::string& name) const {
    const auto at = numbers_.find(name);
    return at == numbers_.end() ? -1 : at->second;
  }

  ClassResults results_;
  std::vector<std::string> classes_;
  std::unordered_map<std::string, int64_t> numbers_;
};

class RootFindings : public Findings {
 public:
  RootFindings(const Dataset& split, const std::filesystem::path& file)
      : results_(read_person_results(split, file)) {}

  [[nodiscard]] std::string_view kind() const override { return "roots"; }
  [[nodiscard]] std::string error_name() const override { return "distance"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    return Finding{.error = results_->distance(record)};
  }
  void mark(int64_t record, SheetEntry& entry) const override {
    nlohmann::ordered_json unused;
    results_->add(record, entry, unused);
  }

 private:
  const std::unique_ptr<PersonResults> results_;
};

constexpr double kMinScore = 0.3;     // of detections that count, and are drawn
constexpr double kMaxDistance = 2.0;  // metres between centres of a match: the middle of nuScenes'

// Detections that match no box of their class, and boxes that none matches: the best first.
int64_t mistakes_in(const nuscenes::SampleTruth& truth,
                    const std::vector<nuscenes::DetectionBox>& found) {
  const auto boxes = best_first(found, kMinScore);
  const auto improves = [&](const nuscenes::DetectionBox& box, size_t i, double& nearest) {
    const nuscenes::DetectionBox& other = truth.boxes[i];
    if (other.class_number != box.class_number) return false;
    const double distance = std::hypot(other.translation[0] - box.translation[0],
                                       other.translation[1] - box.translation[1]);
    if (!(distance < nearest)) return false;
    nearest = distance;
    return true;
  };
  return num_unmatched(match_boxes(boxes, truth.boxes.size(), kMaxDistance, improves),
                       truth.boxes.size());
}

class SceneFindings : public Findings {
 public:
  SceneFindings(const Dataset& split, const std::filesystem::path& file)
      : samples_(nuscenes::read_submission(file).samples) {
    std::unordered_map<std::string_view, const nuscenes::SampleDetections*> by_token;
    for (const auto& sample : samples_) by_token.emplace(sample.token, &sample);
    bool has_any = false;
    for (const nuscenes::SampleTruth& truth : nuscenes::read_ground_truth(split).samples) {
      const auto found = by_token.find(truth.token);
      Keyframe& keyframe = keyframes_.emplace_back();
      if (found == by_token.end()) continue;
      has_any = true;
      keyframe = {found->second, mistakes_in(truth, found->second->boxes)};
    }
    if (!has_any) {
      throw error_at(file, ErrorCode::invalid_argument, "has no sample of the split '{}'",
                     split.manifest().split);
    }
  }

  [[nodiscard]] std::string_view kind() const override { return "scenes"; }
  [[nodiscard]] std::string error_name() const override { return "mistakes"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const Keyframe& keyframe = keyframes_.at(static_cast<size_t>(record));
    if (keyframe.found == nullptr) return std::nullopt;
    return Finding{.is_right = keyframe.mistakes == 0,
                   .error = static_cast<double>(keyframe.mistakes)};
  }
  [[nodiscard]] std::vector<SeenBox> scene_boxes(int64_t record) const override {
    const Keyframe& keyframe = keyframes_.at(static_cast<size_t>(record));
    if (keyframe.found == nullptr) return {};
    return seen_boxes(*keyframe.found, kMinScore);
  }

 private:
  struct Keyframe {
    const nuscenes::SampleDetections* found = nullptr;  // null: the file lacks the sample
    int64_t mistakes = 0;
  };
  std::vector<nuscenes::SampleDetections> samples_;
  std::vector<Keyframe> keyframes_;
};

class DetectionFindings : public Findings {
 public:
  DetectionFindings(const Dataset& split, const std::filesystem::path& file)
      : detections_(read_detections(split, file)) {
    mistakes_.resize(detections_.size());
    tbb::parallel_for(size_t{0}, mistakes_.size(), [&](size_t i) {
      mistakes_[i] = detection_mistakes(split, static_cast<int64_t>(i), detections_[i], kMinScore);
    });
  }

  [[nodiscard]] std::string_view kind() const override { return "detections"; }
  [[nodiscard]] std::string error_name() const override { return "mistakes"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const int64_t mistakes = mistakes_.at(static_cast<size_t>(record));
    return Finding{.is_right = mistakes == 0, .error = static_cast<double>(mistakes)};
  }
  void mark(int64_t record, SheetEntry& entry) const override {
    for (const Detection& detection : detections_.at(static_cast<size_t>(record))) {
      if (detection.score >= kMinScore) entry.boxes.push_back(detection.box);
    }
  }

 private:
  std::vector<std::vector<Detection>> detections_;
  std::vector<int64_t> mistakes_;
};

}  // namespace

std::unique_ptr<Findings> read_findings(const Dataset& split, const std::filesystem::path& file) {
  if (ClassResults::can_be(file)) return std::make_unique<ClassFindings>(split, file);
  if (has_scenes(split.schema())) return std::make_unique<SceneFindings>(split, file);
  if (has_roots(split.schema())) return std::make_unique<RootFindings>(split, file);
  if (can_have_detections(split.schema())) {
    return std::make_unique<DetectionFindings>(split, file);
  }
  if (!std::ifstream(file)) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  throw error_at(
      file, ErrorCode::invalid_argument,
      "is not a file of predicted classes (lines with record, class and score); other results "
      "need scenes, persons or boxes, which the split '{}' does not have",
      split.manifest().split);
}

double value_of(const Finding& finding, std::string_view order) {
  if (order == "score") return finding.score;
  if (order == "loss") return finding.loss;
  return finding.error;
}

}  // namespace ffkit::serve
