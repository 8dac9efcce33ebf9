// Results files of roots: written and read.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <span>
#include <system_error>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>
#include <ffkit/pose/root_truth.h>

#include "format/errors_only.h"
#include "format/file/file.h"

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
  throw Error(ErrorCode::corrupt, fmt::format("its entry {} {}", number, what),
              {.path = file.string()});
}

Point3 root_of_entry(const std::filesystem::path& file, size_t number, const Json& entry,
                     const RootPerson& person) {
  if (!entry.is_object() || !entry.contains("image_id") || !entry.contains("root_cam")) {
    refuse_entry(file, number, "is no object with image_id and root_cam");
  }
  if (!entry["image_id"].is_number_integer() || entry["image_id"] != person.image_id) {
    refuse_entry(file, number,
                 fmt::format("is of picture {}, but the split has a person of picture {} there; "
                             "results are one entry a person, in the order of the split",
                             entry["image_id"].dump(), person.image_id));
  }
  const Json& root = entry["root_cam"];
  Point3 out{};
  if (!root.is_array() || root.size() != out.size()) {
    refuse_entry(file, number, "has a root_cam that is no list of 3 numbers");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!root[i].is_number())
      refuse_entry(file, number, "has a root_cam that is no list of 3 numbers");
    out[i] = root[i].get<double>();
    if (!std::isfinite(out[i])) refuse_entry(file, number, "has a root_cam that is not finite");
  }
  return out;
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

std::vector<Point3> read_root_results(const std::filesystem::path& path, const RootTruth& truth) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::not_found, "cannot be opened", {.path = path.string()});
  Json results;
  try {
    results = Json::parse(in);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::corrupt, fmt::format("is no JSON: {}", error.what()),
                {.path = path.string()});
  }
  if (!results.is_array() || results.size() != truth.persons.size()) {
    throw Error(ErrorCode::corrupt,
                fmt::format("has {}, but the split has {} persons; results are one entry a person",
                            results.is_array() ? fmt::format("{} entries", results.size())
                                               : std::string("no list of entries"),
                            truth.persons.size()),
                {.path = path.string()});
  }
  std::vector<Point3> found;
  for (size_t i = 0; i < results.size(); ++i) {
    found.push_back(root_of_entry(path, i, results[i], truth.persons[i]));
  }
  return found;
}

}  // namespace ffkit::pose
