#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/windows.h>

#include "bindings.h"
#include "loader_options.h"
#include "values.h"

namespace ffkit::python {
namespace {

namespace ns = ffkit::nuscenes;

ns::CameraOptions camera_options(nb::handle o) {
  return {.channels = get<std::vector<std::string>>(o, "channels"),
          .image = image_options_from_python(o.attr("image"))};
}

// None: no points.
ns::PointOptions point_options(nb::handle o) {
  if (o.is_none()) return {.is_on = false};
  return {.is_on = true,
          .num_sweeps = get<int>(o, "num_sweeps"),
          .min_distance = get<double>(o, "min_distance"),
          .max_points = get<int64_t>(o, "max_points"),
          .layout = get_name(o, "layout", from_name<RowLayout>)};
}

uint32_t get_states(nb::handle o, const char* name) {
  uint32_t set = 0;
  for (const int state : get<std::vector<int>>(o, name)) {
    if (state < 0 || state > 31) throw nb::value_error("radar states must be from 0 to 31");
    set |= 1U << static_cast<unsigned>(state);
  }
  return set;
}

ns::RadarFilter radar_filter(nb::handle o) {
  if (o.is_none()) return ns::kAllRadarPoints;
  return {.invalid_states = get_states(o, "invalid_states"),
          .dynprop_states = get_states(o, "dynprop_states"),
          .ambig_states = get_states(o, "ambig_states")};
}

// None: no boxes.
ns::BoxOptions box_options(nb::handle o) {
  if (o.is_none()) return {.is_on = false};
  ns::BoxOptions boxes{.only_valid = get<bool>(o, "only_valid"),
                       .only_classes = get<bool>(o, "only_classes"),
                       .zero_unknown_velocity = get<bool>(o, "zero_unknown_velocity"),
                       .max_boxes = get<int64_t>(o, "max_boxes"),
                       .layout = get_name(o, "layout", from_name<RowLayout>)};
  if (!o.attr("range").is_none()) {
    const auto range = get<std::vector<double>>(o, "range");
    if (range.size() != 4) {
      throw nb::type_error("BoxOptions.range must be (x_min, y_min, x_max, y_max)");
    }
    boxes.range = ns::BevRange{range[0], range[1], range[2], range[3]};
  }
  return boxes;
}

ns::BevAugmentation bev_augmentation(nb::handle o) {
  const auto [rotation_min, rotation_max] = get_pair<double>(o, "rotation");
  const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
  return {.rotation_min = rotation_min,
          .rotation_max = rotation_max,
          .scale_min = scale_min,
          .scale_max = scale_max,
          .flip_x_probability = get<double>(o, "flip_x_probability"),
          .flip_y_probability = get<double>(o, "flip_y_probability")};
}

ns::CanBusRule parse_can_bus_rule(const std::string& name) {
  if (name == "none") return ns::CanBusRule::none;
  if (name == "last_row") return ns::CanBusRule::last_row;
  if (name == "bevformer_code") return ns::CanBusRule::bevformer_code;
  throw nb::value_error("can_bus must be 'none', 'last_row' or 'bevformer_code'");
}

ns::KeyframeOptions keyframe_options(nb::handle o) {
  return {.cameras = camera_options(o.attr("cameras")),
          .lidar = point_options(o.attr("lidar")),
          .radar = point_options(o.attr("radar")),
          .radar_filter = radar_filter(o.attr("radar_filter")),
          .boxes = box_options(o.attr("boxes")),
          .bev = bev_augmentation(o.attr("bev")),
          .can_bus = get_name(o, "can_bus", parse_can_bus_rule),
          .motion = get<bool>(o, "motion"),
          .identity = get<bool>(o, "identity"),
          .allow_missing = get<bool>(o, "allow_missing")};
}

nb::dict keyframe_decoders(const Dataset& keyframes, nb::handle sweeps, nb::handle options) {
  ns::Split split{.keyframes = keyframes};
  if (!sweeps.is_none()) split.sweeps = nb::cast<const Dataset&>(sweeps);
  const ns::KeyframeOptions made = keyframe_options(options);
  nb::dict decoders;
  for (BatchField& field : without_gil([&] { return ns::keyframe_fields(split, made); })) {
    decoders[text_to_python(field.name)] = DecoderHandle{std::move(field.decoder)};
  }
  return decoders;
}

nb::tuple opened_split(const std::filesystem::path& path, const std::string& split) {
  ns::Split opened = without_gil([&] { return ns::open_split(path, split); });
  return nb::make_tuple(std::move(opened.keyframes), opened.sweeps
                                                         ? nb::cast(std::move(*opened.sweeps))
                                                         : nb::object(nb::none()));
}

void bind_windows(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  using Indices = std::vector<int64_t>;
  nb::class_<ns::Windows>(module, "NuscenesWindows")
      .def_ro("frames", &ns::Windows::frames)
      .def_ro("length", &ns::Windows::length)
      .def_prop_ro("num_windows", &ns::Windows::num_windows)
      .def_prop_ro("groups", [](const ns::Windows& w) { return any_of(numpy_vector(*w.groups)); })
      .def_prop_ro("is_repeated",
                   [](const ns::Windows& w) { return any_of(numpy_vector(w.is_repeated)); })
      .def("mask", [](const ns::Windows& w,
                      const Indices& records) { return any_of(numpy_vector(w.mask(records))); })
      .def("has_previous",
           [](const ns::Windows& w, const Indices& records) {
             return any_of(numpy_vector(w.has_previous(records)));
           })
      .def("select", [](const ns::Windows& w, const Indices& chosen) { return w.select(chosen); });
  module.def("nuscenes_make_windows", &ns::make_windows, Release());
  module.def("nuscenes_draw_windows", &ns::draw_windows, Release());
  module.def(
      "nuscenes_scene_groups",
      [](const Dataset& keyframes) { return *ns::scene_groups(keyframes); }, Release());
}

// (numbers of boxes, classes [keyframes, 10] u8)
nb::tuple kept_boxes(const Dataset& keyframes, nb::handle options) {
  const ns::BoxOptions made = box_options(options);
  ns::KeptBoxes kept = without_gil([&] { return ns::read_kept_boxes(keyframes, made); });
  std::vector<uint8_t> classes;
  for (const auto& set : kept.classes) {
    for (size_t c = 0; c < set.size(); ++c) classes.push_back(set[c] ? 1 : 0);
  }
  const nb::object table =
      numpy_vector(std::move(classes)).attr("reshape")(kept.classes.size(), ns::kClasses.size());
  return nb::make_tuple(numpy_vector(std::move(kept.num_boxes)), table);
}

// (numbers of keyframes, keyframes of each class before, and after)
nb::tuple balanced(const std::vector<int64_t>& num_boxes,
                   const std::vector<std::vector<int>>& classes, uint64_t seed, int64_t epoch) {
  ns::KeptBoxes kept{.num_boxes = num_boxes};
  for (const std::vector<int>& row : classes) {
    auto& set = kept.classes.emplace_back();
    for (size_t c = 0; c < row.size() && c < set.size(); ++c) set[c] = row[c] != 0;
  }
  ns::ClassBalance balance = ns::class_balanced(kept, seed, epoch);
  const auto list = [](const auto& numbers) {
    return numpy_vector(std::vector<int64_t>(numbers.begin(), numbers.end()));
  };
  return nb::make_tuple(list(balance.keyframes), list(balance.num_before), list(balance.num_after));
}

// Changes `motion`, [samples, 18] f64, in place.
void differences(
    const nb::ndarray<double, nb::shape<-1, 18>, nb::c_contig, nb::device::cpu>& motion,
    const std::vector<uint8_t>& has_previous) {
  ns::to_differences({motion.data(), motion.size()}, has_previous);
}

}  // namespace

void bind_nuscenes(nb::module_& module) {
  module.attr("NUSCENES_CAMERAS") = nb::tuple(texts_to_python(ns::kCameras));
  module.attr("NUSCENES_RADARS") = nb::tuple(texts_to_python(ns::kRadars));
  module.attr("NUSCENES_CLASSES") = nb::tuple(texts_to_python(ns::kClasses));
  module.attr("NUSCENES_ATTRIBUTES") = nb::tuple(texts_to_python(ns::kAttributes));
  module.attr("NUSCENES_RADAR_FIELDS") = nb::tuple(texts_to_python(ns::kRadarFields));
  module.def(
      "nuscenes_open_split", &opened_split,
      nb::sig("def nuscenes_open_split(path: str | os.PathLike[str], split: str) -> tuple[Dataset, "
              "Dataset | None]"));
  module.def(
      "nuscenes_keyframe_fields", &keyframe_decoders, nb::arg("keyframes"),
      nb::arg("sweeps").none(), nb::arg("options"),
      nb::sig("def nuscenes_keyframe_fields(keyframes: Dataset, sweeps: Dataset | None, options: "
              "typing.Any) -> dict[str, FieldDecoder]"));
  module.def(
      "nuscenes_kept_boxes", &kept_boxes,
      nb::sig(
          "def nuscenes_kept_boxes(keyframes: Dataset, options: typing.Any) -> tuple[typing.Any, "
          "typing.Any]"));
  module.def(
      "nuscenes_class_balanced", &balanced,
      nb::sig("def nuscenes_class_balanced(num_boxes: typing.Any, classes: typing.Any, seed: int, "
              "epoch: int) -> tuple[typing.Any, typing.Any, typing.Any]"));
  module.def(
      "nuscenes_to_differences", &differences,
      nb::sig("def nuscenes_to_differences(motion: typing.Any, has_previous: typing.Any) -> None"));
  bind_windows(module);
}

}  // namespace ffkit::python
