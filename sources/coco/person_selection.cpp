#include <algorithm>
#include <cmath>

#include "base/make_error.h"
#include "coco/person_file.h"

namespace ffkit {
namespace {

constexpr const char* kTooNear = "another person is too near";
constexpr const char* kDepth = "the depth is out of range";
constexpr const char* kNoBox = "the box is too small or outside of the picture";
constexpr const char* kCrowd = "is a crowd";
constexpr const char* kNoJoints = "has no joints";
constexpr const char* kNotValid = "is not valid";
constexpr const char* kNoDetection = "has no detection";
constexpr const char* kOtherFrame = "another frame";

double distance(const pose::Point3& a, const pose::Point3& b, size_t dimensions) {
  double sum = 0;
  for (size_t i = 0; i < dimensions; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

class Selector {
 public:
  Selector(const PersonFile& file, const PersonsOptions& options)
      : file_(file), options_(options) {}

  void take(ChosenPerson person) {
    const PersonPicture& picture = file_.pictures[person.picture];
    const auto width = static_cast<double>(picture.width);
    const auto height = static_cast<double>(picture.height);
    const auto box = pose::person_box(person.annotated, width, height, 1,
                                      static_cast<double>(options_.box_percent) / 100);
    if (!box || is_small(person.annotated, width, height) || !(box->area() > 0)) {
      leave_out(kNoBox);
      return;
    }
    person.box = *box;
    out_.chosen.push_back(person);
  }

  void take_annotated(size_t i) {
    const AnnotatedPerson& person = file_.people[i];
    take({.picture = person.picture,
          .person = static_cast<int64_t>(i),
          .annotation_id = person.id,
          .annotated = person.box,
          .box = {}});
  }

  // As MuCo's: of each picture the person nearest to the camera, and those that are far enough from
  // all others.
  void take_pictures() {
    std::vector<std::vector<size_t>> of_picture(file_.pictures.size());
    for (size_t i = 0; i < file_.people.size(); ++i) {
      of_picture[file_.people[i].picture].push_back(i);
    }
    for (const std::vector<size_t>& people : of_picture) {
      if (people.empty()) continue;
      const size_t nearest = *std::ranges::min_element(
          people, {}, [&](size_t i) { return file_.people[i].root_camera[2]; });
      take_at_depth(nearest);
      for (const size_t i : people) {
        if (i == nearest) continue;
        if (is_crowded(i, people)) {
          leave_out(kTooNear);
        } else {
          take_at_depth(i);
        }
      }
    }
  }

  void take_at_depth(size_t i) {
    const double depth = file_.people[i].root_camera[2];
    const bool is_far = options_.max_depth > 0 && depth > static_cast<double>(options_.max_depth);
    if (is_far || depth < static_cast<double>(options_.min_depth)) {
      leave_out(kDepth);
    } else {
      take_annotated(i);
    }
  }

  void leave_out(const char* why, int64_t count = 1) {
    if (count > 0) out_.left_out[why] += count;
  }

  PersonSelection finish() { return std::move(out_); }

 private:
  bool is_small(const pose::Box& box, double width, double height) const {
    const auto least = static_cast<double>(options_.min_box);
    const auto side = [](double begin, double length, double end) {
      const double first = std::max(0.0, begin);
      return std::min(end - 1, first + std::max(0.0, length - 1)) - first + 1;
    };
    const double w = side(box.x, box.width, width), h = side(box.y, box.height, height);
    return w < least || h < least;
  }

  bool is_crowded(size_t i, const std::vector<size_t>& people) const {
    const auto least = static_cast<double>(options_.min_distance);
    return std::ranges::any_of(people, [&](size_t other) {
      if (other == i) return false;
      const pose::Point3 &a = file_.people[i].root_camera, &b = file_.people[other].root_camera;
      return distance(a, b, 2) < least || distance(a, b, 3) < least;
    });
  }

  const PersonFile& file_;
  const PersonsOptions& options_;
  PersonSelection out_;
};

}  // namespace

PersonSelection select_persons(const PersonFile& file, const PersonSet& set,
                               const PersonsOptions& options,
                               const std::vector<PersonDetection>* detections) {
  Selector selector(file, options);
  selector.leave_out(kOtherFrame, file.num_other_frames);
  if (detections != nullptr && set.name == std::string_view("human36m")) {
    std::map<int64_t, const PersonDetection*> by_picture;  // the last one of each, as published
    for (const PersonDetection& one : *detections) by_picture[one.image_id] = &one;
    for (size_t i = 0; i < file.people.size(); ++i) {
      const AnnotatedPerson& person = file.people[i];
      const auto found = by_picture.find(file.pictures[person.picture].id);
      if (found == by_picture.end()) {
        selector.leave_out(kNoDetection);
        continue;
      }
      selector.take({.picture = person.picture,
                     .person = static_cast<int64_t>(i),
                     .annotation_id = person.id,
                     .annotated = found->second->box,
                     .box = {}});
    }
    return selector.finish();
  }
  if (detections != nullptr) {
    for (size_t i = 0; i < detections->size(); ++i) {
      const PersonDetection& one = (*detections)[i];
      const auto picture = file.picture_of.find(one.image_id);
      if (picture == file.picture_of.end()) {
        throw error_of(
            ErrorCode::invalid_argument,
            "detection {} belongs to picture {}, but the annotations do not contain this picture",
            i, one.image_id);
      }
      selector.take({.picture = picture->second,
                     .annotation_id = -1 - static_cast<int64_t>(i),
                     .annotated = one.box,
                     .box = {},
                     .score = one.score});
    }
    return selector.finish();
  }
  if (options.min_distance > 0) {
    selector.take_pictures();
    return selector.finish();
  }
  for (size_t i = 0; i < file.people.size(); ++i) {
    const AnnotatedPerson& person = file.people[i];
    if (!person.is_valid) {
      selector.leave_out(kNotValid);
    } else if (person.is_crowd) {
      selector.leave_out(kCrowd);
    } else if (!person.has_joints) {
      selector.leave_out(kNoJoints);
    } else if (set.has_depth) {
      selector.take_at_depth(i);
    } else {
      selector.take_annotated(i);
    }
  }
  return selector.finish();
}

}  // namespace ffkit
