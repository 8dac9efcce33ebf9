#include "coco/person_file.h"

#include <array>
#include <cmath>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>
#include <ffkit/sources/persons.h>

#include "converter/input/source_error.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

void append_all_numbers(simdjson::dom::element value, std::vector<double>& out) {
  simdjson::dom::array array;
  if (value.get_array().get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element item : array) append_all_numbers(item, out);
    return;
  }
  bool truth = false;
  if (value.get_bool().get(truth) == simdjson::SUCCESS) {
    out.push_back(truth ? 1 : 0);
    return;
  }
  out.push_back(json_number<double>(value));
}

constexpr int64_t kMostJsonBytes = int64_t{4} << 30;  // simdjson's own

constexpr std::array kPersonSets = {
    PersonSet{.name = "human36m", .num_joints = 17, .root = 0, .has_depth = true},
    PersonSet{.name = "mpii", .num_joints = 16, .root = 6, .has_depth = false},
    PersonSet{.name = "mscoco", .num_joints = 17, .root = 0, .has_depth = false},
    PersonSet{.name = "muco",
              .num_joints = 21,
              .root = 14,
              .has_depth = true,
              .min_distance = 500,
              .min_depth = 1500,
              .max_depth = 7500},
    PersonSet{.name = "mupots",
              .num_joints = 17,
              .root = 14,
              .has_depth = true,
              .says_what_is_valid = true},
    PersonSet{.name = "3dpw", .num_joints = 24, .root = 0, .has_depth = true}};
// Of pictures whose camera nobody knows, in pixels; as published.
constexpr double kUnknownFocal = 1500;
constexpr size_t kLeftHipJoint = 11, kRightHipJoint = 12;  // of mscoco

std::string joints_of(const PersonSet& set, std::string_view each) {
  return fmt::format("for the {} joints of {}{}", set.num_joints, set.name, each);
}

class PersonReader {
 public:
  PersonReader(const fs::path& path, const PersonSet& set) : path_(path), set_(set), input_(path) {}

  PersonFile read() {
    file_.inputs.push_back(input_of(input_.path().filename().string(), input_));
    read_annotations(
        input_, [this](const PersonJson& json, int64_t id) { add_picture(json, id); },
        [this](const PersonJson& json, int64_t id) { add_person(json, id); });
    if (file_.pictures.empty()) {
      throw source_error(
          path_, ErrorCode::invalid_argument,
          "the file has no 'images'; give the annotation file of " + std::string(set_.name));
    }
    finish();
    return std::move(file_);
  }

 private:
  bool is(std::string_view name) const { return set_.name == name; }

  void add_picture(const PersonJson& json, int64_t id) {
    if (!file_.picture_of.emplace(id, file_.pictures.size()).second) {
      throw Error(ErrorCode::invalid_argument, "appears twice");
    }
    PersonPicture picture{.id = id,
                          .file_name = json.text("file_name"),
                          .width = json.integer("width"),
                          .height = json.integer("height"),
                          .camera = {}};
    if (picture.width < 1 || picture.height < 1) {
      throw error_of(ErrorCode::invalid_argument, "is {} x {} pixels", picture.width,
                     picture.height);
    }
    if (is("3dpw")) picture.file_name = json.text("sequence") + "/" + picture.file_name;
    picture.camera = camera(json, picture);
    for (const double focal : picture.camera.focal) {
      if (!(focal > 0)) {
        throw error_of(ErrorCode::invalid_argument,
                       "has a focal length of {}, but the focal length must be more than 0", focal);
      }
    }
    file_.pictures.push_back(std::move(picture));
  }

  pose::Camera camera(const PersonJson& json, const PersonPicture& picture) const {
    const auto pair = [](const std::vector<double>& n) { return std::array{n[0], n[1]}; };
    if (is("muco")) return {pair(json.numbers("f", 2, "")), pair(json.numbers("c", 2, ""))};
    if (is("mupots")) {
      const std::vector<double> n = json.numbers("intrinsic", 4, "(fx, fy, cx, cy)");
      return {{n[0], n[1]}, {n[2], n[3]}};
    }
    if (is("3dpw")) {
      const PersonJson parameters = json.object("cam_param");
      pose::Camera out{pair(parameters.numbers("focal", 2, "")),
                       pair(parameters.numbers("princpt", 2, ""))};
      for (double& n : out.focal) n = double{static_cast<float>(n)};
      for (double& n : out.centre) n = double{static_cast<float>(n)};
      return out;
    }
    return {{kUnknownFocal, kUnknownFocal},
            {static_cast<double>(picture.width) / 2, static_cast<double>(picture.height) / 2}};
  }

  void add_person(const PersonJson& json, int64_t id) {
    AnnotatedPerson person{.id = id, .box = json.box(), .joints = {}};
    picture_ids_.push_back(json.integer("image_id"));
    if (set_.says_what_is_valid) person.is_valid = json.is_true("is_valid");
    if (is("mscoco") && json.has("iscrowd")) person.is_crowd = json.is_true("iscrowd");
    if (!set_.has_depth) person.has_joints = json.is_true("num_keypoints");
    if (is("3dpw")) {
      cameras_.push_back(json.numbers("joint_cam", 3 * set_.num_joints,
                                      joints_of(set_, " (x, y and z of each joint)")));
    } else if (set_.has_depth) {
      add_joints_with_depth(json, person);
    } else if (person.has_joints) {
      add_flat_joints(json, person);
    }
    file_.people.push_back(std::move(person));
  }

  void add_joints_with_depth(const PersonJson& json, AnnotatedPerson& person) const {
    const std::vector<double> camera = json.numbers("keypoints_cam", 3 * set_.num_joints,
                                                    joints_of(set_, " (x, y and z of each joint)"));
    const std::vector<double> image = json.numbers("keypoints_img", 2 * set_.num_joints,
                                                   joints_of(set_, " (x and y of each joint)"));
    const std::vector<double> visible =
        json.numbers("keypoints_vis", set_.num_joints, joints_of(set_, ""));
    const double* root = &camera[3 * set_.root];
    person.root_camera = {root[0], root[1], root[2]};
    person.root_image = {image[2 * set_.root], image[2 * set_.root + 1], root[2]};
    person.visible = static_cast<float>(visible[set_.root]);
    for (size_t i = 0; i < set_.num_joints; ++i) {
      person.joints.insert(person.joints.end(),
                           {static_cast<float>(image[2 * i]), static_cast<float>(image[2 * i + 1]),
                            static_cast<float>(visible[i])});
    }
  }

  void add_flat_joints(const PersonJson& json, AnnotatedPerson& person) const {
    const std::vector<double> n = json.numbers("keypoints", 3 * set_.num_joints,
                                               joints_of(set_, " (x, y and v of each joint)"));
    if (is("mscoco")) {
      const double *left = &n[3 * kLeftHipJoint], *right = &n[3 * kRightHipJoint];
      person.root_image = {(left[0] + right[0]) * 0.5, (left[1] + right[1]) * 0.5, 0};
      person.visible = left[2] * right[2] > 0 ? 1 : 0;
    } else {
      const double* root = &n[3 * set_.root];
      person.root_image = {root[0], root[1], 0};
      person.visible = static_cast<float>(root[2]);
    }
    person.joints.assign(n.begin(), n.end());
  }

  // What needs the pictures, which may come last.
  void finish() {
    for (size_t i = 0; i < file_.people.size(); ++i) {
      AnnotatedPerson& person = file_.people[i];
      const auto found = file_.picture_of.find(picture_ids_[i]);
      if (found == file_.picture_of.end()) {
        throw source_error(path_, ErrorCode::invalid_argument,
                           "annotation {} belongs to picture {}, which is not in 'images'; "
                           "remove it, or give the file that it belongs to",
                           person.id, picture_ids_[i]);
      }
      person.picture = found->second;
      if (is("3dpw")) project(cameras_[i], file_.pictures[person.picture], person);
    }
  }

  // Joints are visible where they are in the picture.
  void project(const std::vector<double>& camera, const PersonPicture& picture,
               AnnotatedPerson& person) const {
    for (size_t i = 0; i < set_.num_joints; ++i) {
      pose::Point3 point{};
      for (size_t k = 0; k < 3; ++k) point[k] = double{static_cast<float>(camera[3 * i + k])};
      const pose::Point3 image = pose::camera_to_pixel_f32(point, picture.camera);
      const bool is_inside = image[0] >= 0 && image[0] < static_cast<double>(picture.width) &&
                             image[1] >= 0 && image[1] < static_cast<double>(picture.height);
      person.joints.insert(
          person.joints.end(),
          {static_cast<float>(image[0]), static_cast<float>(image[1]), is_inside ? 1.0F : 0.0F});
      if (i != set_.root) continue;
      person.root_camera = point;
      person.root_image = image;
      person.visible = is_inside ? 1 : 0;
    }
  }

  const fs::path path_;
  const PersonSet& set_;
  const InputFile input_;
  PersonFile file_;
  std::vector<int64_t> picture_ids_;          // of each person
  std::vector<std::vector<double>> cameras_;  // joints of each person of 3dpw
};

}  // namespace

PersonJson::PersonJson(simdjson::dom::element value) {
  if (value.get_object().get(object_) != simdjson::SUCCESS) refuse_argument("is not an object");
}

bool PersonJson::has(std::string_view name) const {
  simdjson::dom::element value;
  return find_member(object_, name, value);
}

simdjson::dom::element PersonJson::at(std::string_view name) const {
  simdjson::dom::element value;
  if (!find_member(object_, name, value)) {
    refuse_argument(fmt::format("has no '{}'", name));
  }
  return value;
}

int64_t PersonJson::integer(std::string_view name) const {
  const simdjson::dom::element found = at(name);
  try {
    return json_whole_number(found);
  } catch (const Error& error) {
    refuse_argument(fmt::format("'{}': {}", name, error.what()));
  }
}

std::string PersonJson::text(std::string_view name) const {
  std::string_view value;
  if (at(name).get_string().get(value) != simdjson::SUCCESS) {
    refuse_argument(fmt::format("'{}' is not text", name));
  }
  return std::string(value);
}

bool PersonJson::is_true(std::string_view name) const {
  return numbers(name, 1, "")[0] != 0;
}

PersonJson PersonJson::object(std::string_view name) const {
  simdjson::dom::object value;
  if (at(name).get_object().get(value) != simdjson::SUCCESS) {
    refuse_argument(fmt::format("'{}' is not an object", name));
  }
  return PersonJson(value);
}

std::vector<double> PersonJson::numbers(std::string_view name, size_t count,
                                        std::string_view what) const {
  std::vector<double> out;
  const simdjson::dom::element found = at(name);
  try {
    append_all_numbers(found, out);
  } catch (const Error& error) {
    refuse_argument(fmt::format("'{}': {}", name, error.what()));
  }
  if (out.size() != count) {
    refuse_argument(fmt::format("'{}' has {} numbers, but it must have {} numbers{}{}", name,
                                out.size(), count, what.empty() ? "" : " ", what));
  }
  for (const double value : out) {
    if (!std::isfinite(value))
      refuse_argument(fmt::format("'{}' has a number that is not finite", name));
  }
  return out;
}

pose::Box PersonJson::box() const {
  const std::vector<double> n = numbers("bbox", 4, "");
  return {n[0], n[1], n[2], n[3]};
}

void read_annotations(const InputFile& file, const AddPersonJson& add_picture,
                      const AddPersonJson& add_person) {
  const auto table = [&file](std::string_view name, std::string_view noun,
                             const AddPersonJson& add) {
    const auto begin = [&file, name, is_there = false]() mutable {
      if (is_there) {
        throw source_error(file.path(), ErrorCode::invalid_argument,
                           "the file has '{0}' twice, and Python would use only the last '{0}'; "
                           "remove one of the two",
                           name);
      }
      is_there = true;
    };
    return JsonTable{name, noun, begin, [&add](simdjson::dom::object object, FileRange) {
                       const PersonJson json(object);
                       add(json, json.integer("id"));
                     }};
  };
  const std::array tables = {table("images", "picture", add_picture),
                             table("annotations", "annotation", add_person)};
  std::vector<std::string> notes;  // on what is there twice, which is refused here
  read_json_tables(file, tables, notes);
}

std::string problem_of_json(const fs::path& path, simdjson::error_code error) {
  return error == simdjson::IO_ERROR ? simdjson::error_message(error)
                                     : json_problem(read_source_text(path, kMostJsonBytes), error);
}

simdjson::simdjson_result<simdjson::dom::element> load_json(simdjson::dom::parser& parser,
                                                            const fs::path& path) {
  if (!Place(path).is_in_store()) return parser.load(path.string());
  return parser.parse(read_source_text(path, kMostJsonBytes));
}

std::vector<std::string> person_set_names() {
  return names_in(kPersonSets);
}

const PersonSet& person_set(const std::string& name) {
  for (const PersonSet& set : kPersonSets) {
    if (name == set.name) return set;
  }
  throw error_of(ErrorCode::invalid_argument, "{} is '{}'; it must be one of {}",
                 option_name("persons"), name, fmt::join(person_set_names(), ", "));
}

PersonFile read_person_file(const fs::path& path, const PersonSet& set) {
  return PersonReader(path, set).read();
}

std::vector<PersonDetection> read_person_detections(const fs::path& path,
                                                    std::vector<SourceInput>& inputs) {
  const InputFile input(path);
  inputs.push_back(input_of(input.path().filename().string(), input));
  simdjson::dom::parser parser;
  simdjson::dom::array array;
  const auto error = load_json(parser, path).get_array().get(array);
  if (error != simdjson::SUCCESS) {
    throw source_error(path, ErrorCode::corrupt, "is not a JSON array of detections: {}",
                       problem_of_json(path, error));
  }
  std::vector<PersonDetection> out;
  for (const simdjson::dom::element item : array) {
    try {
      const PersonJson json(item);
      if (json.has("root_cam")) {
        throw Error(ErrorCode::invalid_argument,
                    "has a 'root_cam', so the file contains results of RootNet, and RootNet has "
                    "already enlarged the boxes; give the file of detections that RootNet read");
      }
      out.push_back({.image_id = json.integer("image_id"),
                     .box = json.box(),
                     .score = json.has("score") ? json.numbers("score", 1, "")[0] : 1});
    } catch (const Error& e) {
      throw source_error(path, ErrorCode::invalid_argument, "detection {} {}", out.size(),
                         e.what());
    }
  }
  return out;
}

}  // namespace ffkit
