#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/pose/person_record.h>
#include <ffkit/pose/root_truth.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/number_text.h"

namespace ffkit::pose {
namespace {

constexpr std::array<const char*, kNumActions> kActions = {
    "Directions", "Discussion", "Eating",  "Greeting",    "Phoning",
    "Posing",     "Purchases",  "Sitting", "SittingDown", "Smoking",
    "Photo",      "Waiting",    "Walking", "WalkDog",     "WalkTogether"};

double distance(const Point3& a, const Point3& b) {
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

Point3 root_of_map(const Point3& on_map, const Box& box, const Camera& camera, double map_width,
                   double map_height) {
  return pixel_to_camera({on_map[0] / map_width * box.width + box.x,
                          on_map[1] / map_height * box.height + box.y, on_map[2]},
                         camera);
}

RootError root_error(std::span<const Point3> found, std::span<const Point3> truth) {
  if (found.size() != truth.size() || found.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "there are {} found roots, but {} true roots; give the same number of roots, "
                   "and at least 1",
                   found.size(), truth.size());
  }
  RootError sum{.count = std::ssize(found)};
  for (size_t i = 0; i < found.size(); ++i) {
    sum.total += distance(found[i], truth[i]);
    sum.x += std::abs(found[i][0] - truth[i][0]);
    sum.y += std::abs(found[i][1] - truth[i][1]);
    sum.z += std::abs(found[i][2] - truth[i][2]);
  }
  const auto count = static_cast<double>(sum.count);
  return {sum.total / count, sum.x / count, sum.y / count, sum.z / count, sum.count};
}

const char* action_name(int action) {
  return kActions.at(action);
}

int action_of(const std::string& file_name) {
  const size_t at = file_name.find("act_");
  if (at == std::string::npos || at + 6 > file_name.size()) return -1;
  const char tens = file_name[at + 4], ones = file_name[at + 5];
  if (tens < '0' || tens > '9' || ones < '0' || ones > '9') return -1;
  const int action = 10 * (tens - '0') + (ones - '0') - 2;
  return action >= 0 && action < kNumActions ? action : -1;
}

double root_average_precision(std::vector<FoundRoot> found,
                              const std::map<int64_t, std::vector<Point3>>& truth,
                              int64_t num_truth, double threshold) {
  if (num_truth < 1) {
    throw Error(ErrorCode::invalid_argument, "there is no valid annotation for an evaluation");
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &FoundRoot::score);
  std::map<int64_t, std::vector<bool>> taken;
  int64_t num_right = 0, num_counted = 0;
  double sum = 0;
  double recall = 0;
  for (const FoundRoot& one : found) {
    const auto picture = truth.find(one.image_id);
    if (picture == truth.end() || picture->second.empty()) continue;
    const std::vector<Point3>& roots = picture->second;
    std::vector<bool>& is_taken = taken[one.image_id];
    is_taken.resize(roots.size());
    size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < roots.size(); ++i) {
      const double d = distance(one.root, roots[i]);
      if (d < least) {
        least = d;
        nearest = i;
      }
    }
    if (least < threshold && !is_taken[nearest]) {
      is_taken[nearest] = true;
      ++num_right;
    }
    ++num_counted;
    const double recall_now = static_cast<double>(num_right) / static_cast<double>(num_truth);
    if (num_counted > 1) {
      sum +=
          static_cast<double>(num_right) / static_cast<double>(num_counted) * (recall_now - recall);
    }
    recall = recall_now;
  }
  return sum;
}

namespace {

// One field of a split's records, without the rest of them.
class PersonColumn {
 public:
  PersonColumn(const Dataset& split, const char* name) : split_(split) {
    const int at = split.schema().index_of(name);
    if (at < 0) {
      throw dataset_error(
          split.path(), ErrorCode::invalid_argument,
          "has no field '{}'; give a split of persons, as ffconvert coco --persons writes it",
          name);
    }
    field_ = static_cast<size_t>(at);
  }

  // The f64 numbers of record `record`; `count` of them, or a multiple of it when `has_rows`.
  std::vector<double> numbers(int64_t record, size_t count, bool has_rows = false) {
    const bool has_value = split_.read_field(record, field_, bytes_);
    const FieldView view(split_.schema().fields[field_], bytes_, !has_value, split_.name(record));
    const TensorView tensor = view.tensor();
    const size_t found = tensor.data.size() / sizeof(double);
    if (tensor.dtype != DType::f64 || (has_rows ? found % count != 0 : found != count)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' has {} numbers of {}; expected {}{} of f64",
                              split_.schema().fields[field_].name, found, to_string(tensor.dtype),
                              has_rows ? "a multiple of " : "", count),
                  {.path = split_.path().string(), .record = record});
    }
    std::vector<double> out(found);
    if (found > 0) std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
    return out;
  }

 private:
  const Dataset& split_;
  size_t field_ = 0;
  std::vector<std::byte> bytes_;
};

std::string fact(const Manifest& manifest, const char* name) {
  const auto found = manifest.source.find(name);
  return found == manifest.source.end() ? "" : found->second;
}

std::optional<int64_t> valid_roots_of_source(const Dataset& split) {
  const std::string text = fact(split.manifest(), kValidRootsFact);
  if (text.empty()) return {};
  const std::optional<int64_t> count = number_of_text<int64_t>(text);
  if (!count || *count < 0) {
    throw dataset_error(split.path(), ErrorCode::corrupt,
                        "'{}' in its manifest is not a number; convert the data set again",
                        kValidRootsFact);
  }
  return count;
}

// Over all data sets of a chain; nothing when one does not say it.
std::optional<int64_t> valid_roots_fact(const Dataset& split) {
  int64_t sum = 0;
  for (int64_t i = 0; i < split.num_sources(); ++i) {
    const std::optional<int64_t> count = valid_roots_of_source(split.source(i));
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

// Numbers of pictures, in the order of the records; of one data set those that it has.
std::vector<int64_t> picture_numbers(const Dataset& split) {
  std::vector<int64_t> images = split.int_column(person::kImageId);
  if (split.num_sources() == 1) return images;
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers;  // by source and image_id
  for (size_t i = 0; i < images.size(); ++i) {
    const std::pair key(split.source_of(static_cast<int64_t>(i)), images[i]);
    images[i] = numbers.try_emplace(key, std::ssize(numbers)).first->second;
  }
  return images;
}

}  // namespace

std::string_view length_unit(const Manifest& manifest) {
  const std::string set = fact(manifest, kSetFact);
  if (set == "3dpw") return "m";
  for (const char* name : {"human36m", "muco", "mupots", "demo"}) {
    if (set == name) return "mm";
  }
  return "";
}

RootTruth read_root_truth(const Dataset& split) {
  PersonColumn boxes(split, person::kBox), focals(split, person::kFocal),
      centres(split, person::kCentre), roots(split, person::kRootCamera),
      picture_roots(split, person::kPictureRoots);
  for (const char* name :
       {person::kImageId, person::kAnnotationId, person::kScore, person::kHasDepth, person::kId}) {
    const PersonColumn required(split, name);
  }
  const std::vector<int64_t> images = picture_numbers(split);
  const std::vector<int64_t> annotations = split.int_column(person::kAnnotationId);
  const std::vector<int64_t> depths = split.int_column(person::kHasDepth);
  const std::vector<double> scores = split.float_column(person::kScore);
  const std::vector<std::string> ids = split.string_column(person::kId);
  RootTruth truth{.set = fact(split.manifest(), kSetFact), .persons = {}, .valid_roots = {}};
  truth.num_valid_roots = valid_roots_fact(split);
  for (int64_t record = 0; record < split.num_records(); ++record) {
    const auto i = static_cast<size_t>(record);
    const std::vector<double> box = boxes.numbers(record, 4), focal = focals.numbers(record, 2),
                              centre = centres.numbers(record, 2), root = roots.numbers(record, 3);
    truth.persons.push_back({.image_id = images[i],
                             .annotation_id = annotations[i],
                             .id = ids[i],
                             .box = {box[0], box[1], box[2], box[3]},
                             .camera = {{focal[0], focal[1]}, {centre[0], centre[1]}},
                             .root = {root[0], root[1], root[2]},
                             .has_truth = annotations[i] >= 0 && depths[i] != 0,
                             .score = scores[i]});
    if (!truth.num_valid_roots || truth.valid_roots.contains(images[i])) continue;
    std::vector<Point3>& valid = truth.valid_roots[images[i]];
    const std::vector<double> rows = picture_roots.numbers(record, 3, true);
    for (size_t k = 0; k < rows.size(); k += 3)
      valid.push_back({rows[k], rows[k + 1], rows[k + 2]});
  }
  return truth;
}

RootEvaluation evaluate_roots(const RootTruth& truth, const std::vector<Point3>& found,
                              double threshold) {
  if (found.size() != truth.persons.size()) {
    throw error_of(ErrorCode::invalid_argument, "there are {} roots for {} persons", found.size(),
                   truth.persons.size());
  }
  RootEvaluation out;
  std::vector<Point3> own, wanted;
  std::array<std::vector<Point3>, kNumActions> own_by_action, wanted_by_action;
  std::vector<FoundRoot> all;
  for (size_t i = 0; i < found.size(); ++i) {
    const RootPerson& person = truth.persons[i];
    all.push_back({person.image_id, found[i], person.score});
    if (!person.has_truth) continue;
    own.push_back(found[i]);
    wanted.push_back(person.root);
    const int action = truth.set == "human36m" ? action_of(person.id) : -1;
    if (action < 0) continue;
    own_by_action[action].push_back(found[i]);
    wanted_by_action[action].push_back(person.root);
  }
  if (!own.empty()) out.error = root_error(own, wanted);
  for (size_t action = 0; action < own_by_action.size(); ++action) {
    if (own_by_action[action].empty()) continue;
    out.by_action[action] = root_error(own_by_action[action], wanted_by_action[action]);
  }
  if (truth.num_valid_roots.value_or(0) > 0) {
    out.average_precision = root_average_precision(std::move(all), truth.valid_roots,
                                                   *truth.num_valid_roots, threshold);
  }
  return out;
}

// Results files of roots: written and read.

namespace {

using Json = nlohmann::json;

// As Python's json writes a float: the shortest digits that give it again, with a point.
std::string python_number(double value) {
  return Json(value).dump();
}

std::string python_list(std::span<const double> values) {
  std::string text = "[";
  for (const double value : values) {
    if (text.size() > 1) text += ", ";
    text += python_number(value);
  }
  return text + "]";
}

std::string entry_of(const RootTruth& truth, const RootPerson& person, const Point3& root) {
  const std::array<double, 4> box = {person.box.x, person.box.y, person.box.width,
                                     person.box.height};
  const std::string image = fmt::format("\"image_id\": {}", person.image_id);
  const std::string bbox = "\"bbox\": " + python_list(box);
  const std::string camera = "\"root_cam\": " + python_list(root);
  if (truth.set == "mscoco") return fmt::format("{{{}, {}, {}}}", image, camera, bbox);
  if (truth.set == "3dpw") {
    return fmt::format("{{{}, \"ann_id\": {}, {}, {}}}", image, person.annotation_id, bbox, camera);
  }
  if (!truth.num_valid_roots) return fmt::format("{{{}, {}, {}}}", image, bbox, camera);
  return fmt::format("{{{}, {}, {}, \"score\": {}}}", image, camera, bbox,
                     python_number(person.score));
}

template <typename... T>
[[noreturn]] void refuse_entry(const std::filesystem::path& file, size_t number,
                               fmt::format_string<T...> what, T&&... values) {
  throw error_at(file, ErrorCode::corrupt, "entry {} {}", number,
                 fmt::format(what, std::forward<T>(values)...));
}

// `count` numbers that are finite.
std::vector<double> numbers_of_entry(const std::filesystem::path& file, size_t number,
                                     const Json& entry, const char* name, size_t count) {
  const Json& list = entry[name];
  if (!list.is_array() || list.size() != count ||
      !std::all_of(list.begin(), list.end(), [](const Json& value) { return value.is_number(); })) {
    refuse_entry(file, number, "has a {} that is not a list of {} numbers", name, count);
  }
  auto out = list.get<std::vector<double>>();
  if (!std::ranges::all_of(out, [](double value) { return std::isfinite(value); }))
    refuse_entry(file, number, "has a {} that is not finite", name);
  return out;
}

bool entry_has(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && !found->is_null();
}

RootResult result_of_entry(const std::filesystem::path& file, size_t number, const Json& entry) {
  if (!entry.is_object() || !entry_has(entry, "image_id") || !entry_has(entry, "root_cam")) {
    refuse_entry(file, number, "is not an object with image_id and root_cam");
  }
  if (!entry["image_id"].is_number_integer()) {
    refuse_entry(file, number, "has the image_id {}, which is not a whole number",
                 entry["image_id"].dump());
  }
  RootResult result{.image_id = entry["image_id"].get<int64_t>()};
  const std::vector<double> root = numbers_of_entry(file, number, entry, "root_cam", 3);
  result.root = {root[0], root[1], root[2]};
  if (entry_has(entry, "bbox")) {
    const std::vector<double> box = numbers_of_entry(file, number, entry, "bbox", 4);
    result.box = Box{box[0], box[1], box[2], box[3]};
  }
  if (entry_has(entry, "ann_id") && entry["ann_id"].is_number_integer()) {
    result.annotation_id = entry["ann_id"].get<int64_t>();
  }
  if (entry_has(entry, "score")) {
    if (!entry["score"].is_number() || !std::isfinite(entry["score"].get<double>())) {
      refuse_entry(file, number, "has the score {}, which is not a finite number",
                   entry["score"].dump());
    }
    result.score = entry["score"].get<double>();
  }
  return result;
}

bool is_same_box(const Box& a, const Box& b) {
  constexpr double kTolerance = 0.01;  // pixels: other programs round otherwise
  return std::abs(a.x - b.x) < kTolerance && std::abs(a.y - b.y) < kTolerance &&
         std::abs(a.width - b.width) < kTolerance && std::abs(a.height - b.height) < kTolerance;
}

// Of the entries `candidates`, all of the person's picture, the one of `person`; takes it out of
// them. Null where none is its own.
const RootResult* take_entry(const RootPerson& person, bool is_alone,
                             std::vector<const RootResult*>& candidates) {
  const auto is_own = [&](const RootResult* entry) {
    if (entry->annotation_id) return *entry->annotation_id == person.annotation_id;
    return is_alone || !entry->box || is_same_box(*entry->box, person.box);
  };
  const auto found = std::ranges::find_if(candidates, is_own);
  if (found == candidates.end()) return nullptr;
  const RootResult* entry = *found;
  candidates.erase(found);
  return entry;
}

}  // namespace

void write_root_results(const std::filesystem::path& path, const RootTruth& truth,
                        const std::vector<Point3>& found) {
  std::string text = "[";
  for (size_t i = 0; i < found.size(); ++i) {
    if (i > 0) text += ", ";
    text += entry_of(truth, truth.persons.at(i), found[i]);
  }
  text += "]";
  errors_only(path, [&] { write_durably(path, text); });
}

std::vector<RootResult> read_root_results(const std::filesystem::path& path,
                                          const RootTruth& truth) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error_at(path, ErrorCode::not_found, "cannot be opened");
  Json entries;
  try {
    entries = Json::parse(in);
  } catch (const Json::exception& error) {
    throw error_at(path, ErrorCode::corrupt, "the file is not valid JSON: {}", error.what());
  }
  if (!entries.is_array()) {
    throw error_at(path, ErrorCode::corrupt,
                   "the file is not a list of entries; give one entry for each person");
  }
  std::set<int64_t> pictures;
  for (const RootPerson& person : truth.persons) pictures.insert(person.image_id);
  std::vector<RootResult> results;
  for (size_t i = 0; i < entries.size(); ++i) {
    results.push_back(result_of_entry(path, i, entries[i]));
    if (pictures.contains(results.back().image_id)) continue;
    refuse_entry(path, i, "belongs to picture {}, but the split has no person in this picture",
                 results.back().image_id);
  }
  return results;
}

std::vector<Point3> roots_of_persons(const std::vector<RootResult>& results, const RootTruth& truth,
                                     const std::filesystem::path& file) {
  if (results.size() != truth.persons.size()) {
    throw error_at(
        file, ErrorCode::corrupt,
        "the file has {} entries, but the split has {} persons; give one entry for each person",
        results.size(), truth.persons.size());
  }
  std::map<int64_t, std::vector<const RootResult*>> of_picture;
  for (const RootResult& result : results) of_picture[result.image_id].push_back(&result);
  std::map<int64_t, size_t> num_persons;
  for (const RootPerson& person : truth.persons) ++num_persons[person.image_id];
  std::vector<Point3> found;
  for (size_t i = 0; i < truth.persons.size(); ++i) {
    const RootPerson& person = truth.persons[i];
    std::vector<const RootResult*>& candidates = of_picture[person.image_id];
    const RootResult* entry = take_entry(person, num_persons[person.image_id] == 1, candidates);
    if (entry == nullptr) {
      throw error_at(file, ErrorCode::corrupt,
                     "the file has no entry for person {} of the split (picture {}, box [{}, {}, "
                     "{}, {}]); make the results from the boxes of this split",
                     i, person.image_id, person.box.x, person.box.y, person.box.width,
                     person.box.height);
    }
    found.push_back(entry->root);
  }
  return found;
}

RootEvaluation evaluate_results(const std::vector<RootResult>& results, const RootTruth& truth,
                                const std::filesystem::path& file, double threshold) {
  RootEvaluation figures;
  if (std::ranges::any_of(truth.persons, &RootPerson::has_truth)) {
    figures = evaluate_roots(truth, roots_of_persons(results, truth, file), threshold);
  }
  if (truth.num_valid_roots.value_or(0) == 0) return figures;
  std::vector<FoundRoot> found;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].score) refuse_entry(file, i, "has no 'score'; give each entry a score");
    found.push_back({results[i].image_id, results[i].root, *results[i].score});
  }
  figures.average_precision = root_average_precision(std::move(found), truth.valid_roots,
                                                     *truth.num_valid_roots, threshold);
  return figures;
}

}  // namespace ffkit::pose
