// Human3.6M as its copies for RootNet have it: three files a subject, pictures and boxes, cameras,
// and joints of the world by action, subaction and frame.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "coco/person_file.h"
#include "converter/input/source_error.h"

namespace ffkit {
namespace {

struct WorldCamera {
  std::array<double, 9> rotation{};
  pose::Point3 translation{};
  pose::Camera camera;
};

struct FrameOf {
  size_t picture = 0;
  int64_t camera = 0, action = 0, subaction = 0, frame = 0;
};

simdjson::dom::object load_object(simdjson::dom::parser& parser, const fs::path& path) {
  simdjson::dom::object object;
  const auto error = load_json(parser, path).get_object().get(object);
  if (error != simdjson::SUCCESS) {
    throw source_error(path,
                       error == simdjson::IO_ERROR ? ErrorCode::not_found : ErrorCode::corrupt,
                       "cannot be read as a JSON object: {}", problem_of_json(path, error));
  }
  return object;
}

class SubjectReader {
 public:
  SubjectReader(const fs::path& folder, int64_t subject, int64_t frame_step, PersonFile& out)
      : prefix_((folder / fmt::format("Human36M_subject{}_", subject)).string()),
        subject_(subject),
        frame_step_(frame_step),
        out_(out) {}

  void read() {
    read_cameras();
    read_data();
    read_joints();
  }

 private:
  fs::path file(const char* what) const { return prefix_ + what + ".json"; }

  void note_input(const char* what) {
    out_.inputs.push_back(input_of(file(what).filename().string(), InputFile(file(what))));
  }

  void read_cameras() {
    note_input("camera");
    simdjson::dom::parser parser;
    for (const auto [number, value] : load_object(parser, file("camera"))) {
      try {
        const PersonJson json(value);
        const std::vector<double> r = json.numbers("R", 9, ""), t = json.numbers("t", 3, ""),
                                  f = json.numbers("f", 2, ""), c = json.numbers("c", 2, "");
        WorldCamera& camera = cameras_[std::stoll(std::string(number))];
        std::copy(r.begin(), r.end(), camera.rotation.begin());
        std::copy(t.begin(), t.end(), camera.translation.begin());
        for (size_t i = 0; i < 2; ++i) {
          camera.camera.focal[i] = double{static_cast<float>(f[i])};
          camera.camera.centre[i] = double{static_cast<float>(c[i])};
        }
      } catch (const std::exception& error) {
        throw source_error(file("camera"), ErrorCode::invalid_argument, "camera {} {}", number,
                           error.what());
      }
    }
  }

  void read_data() {
    note_input("data");
    const InputFile input(file("data"));
    read_annotations(
        input, [this](const PersonJson& json, int64_t id) { add_picture(json, id); },
        [this](const PersonJson& json, int64_t id) { add_person(json, id); });
  }

  void add_picture(const PersonJson& json, int64_t id) {
    const int64_t frame = json.integer("frame_idx");
    if (json.integer("subject") != subject_) {
      throw error_of(ErrorCode::invalid_argument, "has wrong subject {}", json.integer("subject"));
    }
    if (frame % frame_step_ != 0) {
      ++out_.num_other_frames;
      skipped_.insert(id);
      return;
    }
    if (!out_.picture_of.emplace(id, out_.pictures.size()).second) {
      throw Error(ErrorCode::invalid_argument, "appears twice");
    }
    frames_[id] = {out_.pictures.size(), json.integer("cam_idx"), json.integer("action_idx"),
                   json.integer("subaction_idx"), frame};
    const auto camera = cameras_.find(frames_[id].camera);
    if (camera == cameras_.end()) {
      throw error_of(ErrorCode::invalid_argument, "has camera {}, which is not in '{}'",
                     frames_[id].camera, file("camera").filename().string());
    }
    out_.pictures.push_back({.id = id,
                             .file_name = json.text("file_name"),
                             .width = json.integer("width"),
                             .height = json.integer("height"),
                             .camera = camera->second.camera});
  }

  void add_person(const PersonJson& json, int64_t id) {
    const int64_t picture = json.integer("image_id");
    if (skipped_.contains(picture)) return;
    const std::vector<double> visible = json.numbers(
        "keypoints_vis", person_set("human36m").num_joints, "for the 17 joints of human36m");
    AnnotatedPerson person{.id = id, .box = json.box(), .joints = {}};
    for (const double v : visible) person.joints.push_back(static_cast<float>(v));
    picture_ids_.push_back(picture);
    first_ = std::min(first_, out_.people.size());
    out_.people.push_back(std::move(person));
  }

  // Every person gets the joints of its frame, turned into the camera's coordinates.
  void read_joints() {
    note_input("joint_3d");
    simdjson::dom::parser parser;
    const simdjson::dom::object actions = load_object(parser, file("joint_3d"));
    for (size_t i = 0; i < picture_ids_.size(); ++i) {
      AnnotatedPerson& person = out_.people[first_ + i];
      try {
        const auto found = frames_.find(picture_ids_[i]);
        if (found == frames_.end()) {
          throw error_of(ErrorCode::invalid_argument,
                         "belongs to picture {}, which is not in 'images'", picture_ids_[i]);
        }
        const FrameOf& at = found->second;
        person.picture = at.picture;
        const std::vector<double> world =
            PersonJson(actions)
                .object(std::to_string(at.action))
                .object(std::to_string(at.subaction))
                .numbers(std::to_string(at.frame), 3 * person_set("human36m").num_joints,
                         "for the 17 joints of human36m (x, y and z of each joint)");
        set_joints(world, cameras_.at(at.camera), person);
      } catch (const Error& error) {
        throw error.with_message(fmt::format("annotation {}: {}", person.id, error.message()))
            .within({.path = file("joint_3d").string()});
      }
    }
  }

  static void set_joints(const std::vector<double>& world, const WorldCamera& camera,
                         AnnotatedPerson& person) {
    const std::vector<float> visible = std::move(person.joints);
    person.joints.clear();
    for (size_t i = 0; i < visible.size(); ++i) {
      const pose::Point3 point = pose::world_to_camera_f32(
          {world[3 * i], world[3 * i + 1], world[3 * i + 2]}, camera.rotation, camera.translation);
      const pose::Point3 image = pose::camera_to_pixel_f32(point, camera.camera);
      person.joints.insert(person.joints.end(), {static_cast<float>(image[0]),
                                                 static_cast<float>(image[1]), visible[i]});
      if (i != 0) continue;
      person.root_camera = point;
      person.root_image = image;
      person.visible = visible[0];
    }
  }

  const std::string prefix_;
  const int64_t subject_, frame_step_;
  PersonFile& out_;
  std::map<int64_t, WorldCamera> cameras_;
  std::map<int64_t, FrameOf> frames_;                  // by picture
  std::set<int64_t> skipped_;                          // pictures of other frames
  std::vector<int64_t> picture_ids_;                   // of each person of this subject
  size_t first_ = std::numeric_limits<size_t>::max();  // of them
};

}  // namespace

PersonFile read_human36m(const fs::path& folder, std::span<const int64_t> subjects,
                         int64_t frame_step) {
  PersonFile out;
  for (const int64_t subject : subjects) SubjectReader(folder, subject, frame_step, out).read();
  if (out.pictures.empty()) {
    throw source_error(folder, ErrorCode::invalid_argument,
                       "the file has no frame with a number that is a multiple of {}", frame_step);
  }
  return out;
}

}  // namespace ffkit
