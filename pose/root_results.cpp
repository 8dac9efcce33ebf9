// Results files of roots: written and read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <system_error>

#include <nlohmann/json.hpp>

#include <ffkit/pose/root_truth.h>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit::pose {
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

[[noreturn]] void refuse_entry(const std::filesystem::path& file, size_t number,
                               const std::string& what) {
  throw error_at(file, ErrorCode::corrupt, "its entry {} {}", number, what);
}

// `count` numbers that are finite.
std::vector<double> numbers_of_entry(const std::filesystem::path& file, size_t number,
                                     const Json& entry, const char* name, size_t count) {
  const Json& list = entry[name];
  if (!list.is_array() || list.size() != count) {
    refuse_entry(file, number, fmt::format("has a {} that is no list of {} numbers", name, count));
  }
  std::vector<double> out;
  for (const Json& value : list) {
    if (!value.is_number()) {
      refuse_entry(file, number,
                   fmt::format("has a {} that is no list of {} numbers", name, count));
    }
    out.push_back(value.get<double>());
    if (!std::isfinite(out.back())) {
      refuse_entry(file, number, fmt::format("has a {} that is not finite", name));
    }
  }
  return out;
}

bool entry_has(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && !found->is_null();
}

RootResult result_of_entry(const std::filesystem::path& file, size_t number, const Json& entry) {
  if (!entry.is_object() || !entry_has(entry, "image_id") || !entry_has(entry, "root_cam")) {
    refuse_entry(file, number, "is no object with image_id and root_cam");
  }
  if (!entry["image_id"].is_number_integer()) {
    refuse_entry(file, number,
                 fmt::format("has the image_id {}, no whole number", entry["image_id"].dump()));
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
      refuse_entry(file, number,
                   fmt::format("has the score {}, no finite number", entry["score"].dump()));
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
  errors_only(path, [&] {
    std::filesystem::path written = path;
    written += ".tmp";
    try {
      File file = File::create(written);
      file.write(std::as_bytes(std::span(text)));
      file.sync();
      file.close();
      rename_durably(written, path);
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(written, ignored);
      throw;
    }
  });
}

std::vector<RootResult> read_root_results(const std::filesystem::path& path,
                                          const RootTruth& truth) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error_at(path, ErrorCode::not_found, "cannot be opened");
  Json entries;
  try {
    entries = Json::parse(in);
  } catch (const Json::exception& error) {
    throw error_at(path, ErrorCode::corrupt, "is no JSON: {}", error.what());
  }
  if (!entries.is_array()) {
    throw error_at(path, ErrorCode::corrupt,
                   "has no list of entries; results are one entry a person");
  }
  std::set<int64_t> pictures;
  for (const RootPerson& person : truth.persons) pictures.insert(person.image_id);
  std::vector<RootResult> results;
  for (size_t i = 0; i < entries.size(); ++i) {
    results.push_back(result_of_entry(path, i, entries[i]));
    if (pictures.contains(results.back().image_id)) continue;
    refuse_entry(
        path, i,
        fmt::format("is of picture {}, of which the split has no person", results.back().image_id));
  }
  return results;
}

std::vector<Point3> roots_of_persons(const std::vector<RootResult>& results, const RootTruth& truth,
                                     const std::filesystem::path& file) {
  if (results.size() != truth.persons.size()) {
    throw error_at(file, ErrorCode::corrupt,
                   "has {} entries, but the split has {} persons; results are one entry a person",
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
                     "has no entry for person {} of the split, in picture {} with the box [{}, {}, "
                     "{}, {}]; were the results made of other boxes?",
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
    if (!results[i].score) refuse_entry(file, i, "has no score, by which entries are ordered");
    found.push_back({results[i].image_id, results[i].root, *results[i].score});
  }
  figures.average_precision = root_average_precision(std::move(found), truth.valid_roots,
                                                     *truth.num_valid_roots, threshold);
  return figures;
}

}  // namespace ffkit::pose
