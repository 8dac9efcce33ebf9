#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <utility>

#include <ffkit/pose/person_record.h>
#include <ffkit/pose/root_truth.h>

#include "base/make_error.h"

namespace ffkit::pose {
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
                  fmt::format("field '{}' holds {} numbers of {}; expected {}{} of f64",
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
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 0) {
    throw dataset_error(split.path(), ErrorCode::corrupt,
                        "its manifest's '{}' is no number; convert the set again", kValidRootsFact);
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

}  // namespace ffkit::pose
