// What was found of persons: their roots, beside the true ones.
#include <fmt/format.h>

#include <limits>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/pose/root_truth.h>

#include "draw/own_sheets.h"

namespace ffkit {
namespace {

SheetPoint point_of(const pose::Point3& root, const pose::Camera& camera, SheetPoint::Kind kind) {
  const pose::Point3 pixel = pose::camera_to_pixel(root, camera);
  return {.x = pixel[0], .y = pixel[1], .kind = kind};
}

class RootResults : public PersonResults {
 public:
  RootResults(const Dataset& split, const std::filesystem::path& file)
      : truth_(pose::read_root_truth(split)),
        found_(pose::roots_of_persons(pose::read_root_results(file, truth_), truth_, file)),
        unit_(pose::length_unit(split.manifest())) {}

  [[nodiscard]] double distance(int64_t record) const override {
    const auto i = static_cast<size_t>(record);
    const pose::RootPerson& person = truth_.persons[i];
    if (!person.has_truth) return std::numeric_limits<double>::quiet_NaN();
    return pose::root_error(std::span(&found_[i], 1), std::span(&person.root, 1)).total;
  }

  void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const override {
    const auto i = static_cast<size_t>(record);
    const pose::RootPerson& person = truth_.persons[i];
    const pose::Point3& found = found_[i];
    entry.crop = SheetBox{.x = person.box.x,
                          .y = person.box.y,
                          .width = person.box.width,
                          .height = person.box.height};
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

 private:
  pose::RootTruth truth_;
  std::vector<pose::Point3> found_;
  std::string unit_;
};

}  // namespace

std::unique_ptr<PersonResults> read_person_results(const Dataset& split,
                                                   const std::filesystem::path& file) {
  return std::make_unique<RootResults>(split, file);
}

}  // namespace ffkit
