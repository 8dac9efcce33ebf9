// Samples, geometry and evaluations.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <ffkit/image/affine_crop.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/pose/root_truth.h>

#include "compare.h"
#include "tasks/rootnet/data/person_crop.h"

namespace ffkit::testing {
namespace {

using nlohmann::json;
using pose::Box;
using pose::Camera;
using pose::Point3;

Box box_of(const json& values) {
  return {values[0], values[1], values[2], values[3]};
}
Point3 point_of(const json& values) {
  return {values[0], values[1], values[2]};
}
Camera camera_of(const json& f, const json& c) {
  return {f.get<std::array<double, 2>>(), c.get<std::array<double, 2>>()};
}

template <typename Own>
double largest(const Own& own, const json& wanted) {
  double deviation = own.size() == wanted.size() ? 0 : INFINITY;
  for (size_t i = 0; i < own.size() && i < wanted.size(); ++i) {
    deviation = std::max(deviation, std::abs(double(own[i]) - wanted[i].template get<double>()));
  }
  return deviation;
}

std::array<double, 4> numbers_of(const Box& box) {
  return {box.x, box.y, box.width, box.height};
}

double box_deviation(const std::optional<Box>& own, const json& wanted) {
  if (!own || wanted.is_null()) return own.has_value() == !wanted.is_null() ? 0 : INFINITY;
  return largest(numbers_of(*own), wanted);
}

// The affected share of the pixels, and by how much.
void compare_pixels(const RgbView& picture, const PersonCrop& crop, const AffineMap& map,
                    const at::Tensor& wanted, const std::string& name, Deviations& deviations) {
  const auto side = static_cast<int>(wanted.size(0));
  std::vector<uint8_t> own(static_cast<size_t>(wanted.numel())), scratch;
  crop_pixels(picture, crop.affine, map, {.data = own.data(), .width = side, .height = side},
              scratch);
  const auto* other = wanted.const_data_ptr<uint8_t>();
  int most = 0;
  int64_t num_other = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const int difference = std::abs(int{own[i]} - int{other[i]});
    most = std::max(most, difference);
    num_other += difference != 0 ? 1 : 0;
  }
  deviations.check("crops: grey levels", name, most, 3);
  deviations.check("crops: share of other values", name, double(num_other) / double(wanted.numel()),
                   0.03);
}

}  // namespace

void compare_samples(const RootNetFixture& fixture, const std::filesystem::path& root,
                     Deviations& deviations) {
  const json& samples = fixture.expected["samples"];
  const auto size = fixture.expected["config"]["input_shape"][0].get<int64_t>();
  const auto real = fixture.expected["config"]["bbox_real"][0].get<double>();
  for (size_t i = 0; i < samples.size(); ++i) {
    const json& sample = samples[i];
    const std::string name = fmt::format("sample {}", i);
    const std::vector<char> bytes = read_all(root / sample["image"].get<std::string>());
    ImageDecoder decoder;
    const RgbView picture = decoder.decode(std::as_bytes(std::span(bytes)));
    const auto box = pose::person_box(box_of(sample["raw_box"]), picture.width, picture.height);
    deviations.check("boxes", name, box_deviation(box, sample["box"]), 1e-9);
    const PersonRoot person{.box = box.value(),
                            .camera = camera_of(sample["f"], sample["c"]),
                            .root = point_of(sample["root_img_original"]),
                            .visible = 1,
                            .have_depth = sample["target_have_depth"],
                            .picture_width = picture.width};
    PersonCrop crop{
        .affine = {box->x, box->y, box->width, box->height, sample["rot"], sample["flip"]}};
    for (size_t c = 0; c < 3; ++c) crop.color[c] = sample["color_scale"][c].get<float>();
    const AffineMap map = affine_map(crop.affine, picture.width, size);
    const std::vector<double> rows[2] = {{map[0], map[1], map[2]}, {map[3], map[4], map[5]}};
    for (size_t row = 0; row < 2; ++row) {
      deviations.check("affine maps", name, largest(rows[row], sample["affine"][row]), 1e-9);
    }
    const auto target = crop_target(person, crop, size, real);
    const std::array<double, 3> coordinates = {target[CropTarget::kX], target[CropTarget::kY],
                                               target[CropTarget::kDepth]};
    deviations.check("targets", name, largest(coordinates, sample["target_coord"]), 1e-5);
    deviations.check("targets", name + " visible",
                     std::abs(target[CropTarget::kVisible] - sample["target_vis"][0].get<float>()),
                     0);
    deviations.check("k", name,
                     std::abs(target[CropTarget::kK] / sample["k_value"].get<double>() - 1), 1e-7);
    compare_pixels(picture, crop, map, fixture.arrays.at("crop_u8")[static_cast<int64_t>(i)], name,
                   deviations);
  }
  for (const json& one : fixture.expected["geometry"]["process_bbox"]) {
    deviations.check(
        "boxes", one["box"].dump(),
        box_deviation(pose::person_box(box_of(one["box"]), one["width"], one["height"]),
                      one["result"]),
        1e-9);
  }
  const json& cameras = fixture.expected["geometry"]["pixel2cam"];
  const Camera camera = camera_of(cameras["f"], cameras["c"]);
  for (size_t i = 0; i < cameras["pixel"].size(); ++i) {
    const Point3 point = pose::pixel_to_camera(point_of(cameras["pixel"][i]), camera);
    deviations.check("cameras", fmt::format("{}", i), largest(point, cameras["cam"][i]), 1e-9);
    deviations.check("cameras", fmt::format("{} back", i),
                     largest(pose::camera_to_pixel(point, camera), cameras["back"][i]), 1e-9);
  }
}

namespace {

void compare_mupots(const RootNetFixture& fixture, Deviations& deviations) {
  const json input = read_json(fixture.folder / "mupots_input.json");
  const json& wanted = fixture.expected["mupots"];
  std::map<int64_t, const json*> images;
  for (const json& image : input["images"]) images[image["id"]] = &image;
  std::map<int64_t, std::vector<Point3>> truth;
  int64_t num_valid = 0;
  for (const json& annotation : input["annotations"]) {
    if (annotation["is_valid"] != 1) continue;
    ++num_valid;
    truth[annotation["image_id"]].push_back(point_of(annotation["keypoints_cam"][0]));
  }
  std::vector<pose::FoundRoot> found;
  for (size_t i = 0; i < input["detections"].size(); ++i) {
    const json& detection = input["detections"][i];
    const json& image = *images.at(detection["image_id"]);
    const json& n = image["intrinsic"];
    const auto box = pose::person_box(box_of(detection["bbox"]), image["width"], image["height"]);
    deviations.check("boxes", fmt::format("mupots {}", i),
                     box_deviation(box, wanted["processed_boxes"][i]), 1e-9);
    const Point3 root = pose::root_of_map(point_of(input["predictions"][i]), box.value(),
                                          {{n[0], n[1]}, {n[2], n[3]}}, 64, 64);
    deviations.check("roots", fmt::format("mupots {}", i), largest(root, wanted["root_cam"][i]),
                     1e-8);
    found.push_back({detection["image_id"], root, detection["score"]});
  }
  for (const auto& [threshold, ap] : wanted["AP_root"].items()) {
    deviations.check(
        "AP", "at " + threshold,
        std::abs(pose::root_average_precision(found, truth, num_valid, std::stod(threshold)) -
                 ap.get<double>()),
        1e-9);
  }
}

void compare_human36m(const RootNetFixture& fixture, Deviations& deviations) {
  const json input = read_json(fixture.folder / "human36m_input.json");
  const json& wanted = fixture.expected["human36m"];
  constexpr int64_t kFrameStep = 64;
  std::vector<Point3> found, truth;
  std::array<std::vector<double>, pose::kNumActions> by_action;
  // Subject 9, then 11, as numbers.
  std::map<int64_t, const json*> subjects;
  for (const auto& [name, subject] : input["subjects"].items())
    subjects[std::stol(name)] = &subject;
  size_t i = 0;
  for (const auto& [number, subject] : subjects) {
    std::map<int64_t, const json*> images;
    for (const json& image : (*subject)["images"]) images[image["id"]] = &image;
    for (const json& annotation : (*subject)["annotations"]) {
      const json& image = *images.at(annotation["image_id"]);
      const auto frame = image["frame_idx"].get<int64_t>();
      if (frame % kFrameStep != 0) continue;
      const auto key = [&](const char* name) { return std::to_string(image[name].get<int64_t>()); };
      const json& c = (*subject)["cameras"][key("cam_idx")];
      std::array<double, 9> rotation{};
      for (size_t k = 0; k < 9; ++k) rotation[k] = c["R"][k / 3][k % 3];
      const json& world =
          (*subject)["root_world"][key("action_idx")][key("subaction_idx")][std::to_string(frame)];
      const Point3 root = pose::world_to_camera_f32(point_of(world), rotation, point_of(c["t"]));
      Camera camera = camera_of(c["f"], c["c"]);
      for (double& n : camera.focal) n = double{static_cast<float>(n)};
      for (double& n : camera.centre) n = double{static_cast<float>(n)};
      const json& sample = wanted["samples"].at(i);
      const auto box =
          pose::person_box(box_of(annotation["bbox"]), image["width"], image["height"]);
      const std::string name = fmt::format("human36m {}", i);
      deviations.check("boxes", name, box_deviation(box, sample["box"]), 1e-9);
      deviations.check("roots", name + " true", largest(root, sample["root_cam_gt"]), 0);
      deviations.check("roots", name + " in the picture",
                       largest(pose::camera_to_pixel_f32(root, camera), sample["root_img_gt"]), 0);
      found.push_back(
          pose::root_of_map(point_of(input["predictions"][i]), box.value(), camera, 64, 64));
      truth.push_back(root);
      deviations.check("roots", name, largest(found.back(), sample["root_cam_predicted"]), 1e-8);
      const pose::RootError error =
          pose::root_error(std::span(found).last(1), std::span(truth).last(1));
      by_action.at(static_cast<size_t>(pose::action_of(image["file_name"]))).push_back(error.total);
      ++i;
    }
  }
  deviations.check("MRPE", "number of samples", double(i != wanted["samples"].size()), 0);
  const pose::RootError error = pose::root_error(found, truth);
  const json& mrpe = wanted["MRPE"];
  for (const auto& [name, own] : {std::pair("tot", error.total), std::pair("x", error.x),
                                  std::pair("y", error.y), std::pair("z", error.z)}) {
    deviations.check("MRPE", name, std::abs(own - mrpe[name].get<double>()), 1e-9);
  }
  std::string printed;
  for (size_t action = 0; action < by_action.size(); ++action) {
    double sum = 0;
    for (const double one : by_action[action]) sum += one;
    printed += fmt::format("{}: {:.2f} ", pose::action_name(static_cast<int>(action)),
                           sum / double(by_action[action].size()));
  }
  deviations.check("MRPE", "by action", double(printed != wanted["printed"][1].get<std::string>()),
                   0);
}

}  // namespace

void compare_evaluations(const RootNetFixture& fixture, Deviations& deviations) {
  compare_mupots(fixture, deviations);
  compare_human36m(fixture, deviations);
}

}  // namespace ffkit::testing
