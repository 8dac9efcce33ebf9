// bevformer_compare: holds our BEVFormer against what the published code computes.
//
//   bevformer_compare FOLDER [--root NUSCENES] [--only NAME] [--float32] [--all]
//
// For every fixture of FOLDER (NAME.expected.json beside its .npz and weights): intermediate
// tensors in the order in which they are computed, losses, gradients, decoded boxes. In float64, so
// that what differs is the program and not the processor's rounding; --float32 shows that as well.
// Exit status 1 when one is further away than its tolerance.
#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/error.h>

#include "fixture.h"
#include "tasks/bevformer/loss/detection_loss.h"

namespace ffkit::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kTensors = 1e-4;         // of the tensor's largest value
constexpr double kLosses = 1e-5;          // of the loss
constexpr double kTotalGradient = 1e-4;   // of the norm
constexpr double kGradients = 1e-3;       // of the norm
constexpr double kLooseGradients = 1e-2;  // in the backbone and of sampling offsets
constexpr double kBoxes = 1e-3;           // metres, radians, scores

class Comparison {
 public:
  Comparison(const Fixture& fixture, bool shows_all) : fixture_(fixture), shows_all_(shows_all) {}

  void check(const std::string& what, double deviation, double tolerance) {
    const bool is_good = deviation <= tolerance;  // NaN is not
    if (!is_good) ++failures_;
    if (!is_good || shows_all_) {
      fmt::print("  {:<90} {:.2e}{}\n", what, deviation,
                 is_good ? "" : fmt::format("  TOO FAR, allowed {:.0e}", tolerance));
    }
    double& worst = worst_[tolerance_name(what)];
    if (!(deviation <= worst)) worst = deviation;
    ++count_;
  }

  // A tensor of the network against the whole one, its statistics and its first values.
  void check_tensor(const std::string& name, const at::Tensor& value) {
    const at::Tensor own = value.detach().to(at::kDouble);
    const nlohmann::json& tensors = fixture_.expected["tensors"];
    if (!tensors.contains(name)) return;
    seen_[name] = true;
    const nlohmann::json& wanted = tensors[name];
    if (own.sizes() != wanted["shape"].get<std::vector<int64_t>>()) {
      fmt::print("  {}: another shape than {}\n", name, wanted["shape"].dump());
      ++failures_;
      return;
    }
    // Of points that no camera sees, nothing is asked: they reach far out of the picture.
    if (name == "reference_points_cam") {
      points_ = own;
      return;
    }
    if (name == "bev_mask") check_points(own);
    const double largest =
        std::max(std::abs(wanted["min"].get<double>()), std::abs(wanted["max"].get<double>()));
    double deviation = std::abs(own.mean().item<double>() - wanted["mean"].get<double>());
    for (const auto& [number, at] : {std::pair(own.min(), "min"), std::pair(own.max(), "max"),
                                     std::pair(own.std(/*unbiased=*/false), "std")}) {
      deviation = std::max(deviation, std::abs(number.item<double>() - wanted[at].get<double>()));
    }
    const at::Tensor flat = own.flatten();
    for (size_t i = 0; i < wanted["first16"].size(); ++i) {
      deviation = std::max(deviation, std::abs(flat[static_cast<int64_t>(i)].item<double>() -
                                               wanted["first16"][i].get<double>()));
    }
    if (const auto array = fixture_.arrays.find(name); array != fixture_.arrays.end()) {
      deviation = std::max(deviation, largest_difference(strided(name, own), array->second));
    }
    check(name, largest > 0 ? deviation / largest : deviation, kTensors);
  }

  // The part of a tensor that the .npz has.
  at::Tensor strided(const std::string& name, at::Tensor own) const {
    const nlohmann::json& npz = fixture_.expected["npz"][name];
    // Of some, only the first camera or the first cameras are there.
    while (own.dim() > static_cast<int64_t>(npz["stride"].size())) own = own[0];
    for (size_t d = 0; d < npz["stride"].size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      own = own.narrow(dim, 0, npz["full_shape"][d].get<int64_t>())
                .slice(dim, 0, c10::nullopt, npz["stride"][d].get<int64_t>());
    }
    return own;
  }

  void finish_tensors() {
    for (const auto& [name, value] : fixture_.expected["tensors"].items()) {
      if (seen_.contains(name)) continue;
      fmt::print("  {}: never computed\n", name);
      ++failures_;
    }
  }

  bool report() const {
    fmt::print("  {} comparisons, {} too far; largest deviations:", count_, failures_);
    for (const auto& [what, worst] : worst_) fmt::print(" {} {:.1e}", what, worst);
    fmt::print("\n");
    return failures_ == 0;
  }

 private:
  static double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a - b.to(at::kDouble)).abs().max().item<double>();
  }
  static std::string tolerance_name(const std::string& what) {
    const size_t end = what.find(' ');
    return end == std::string::npos ? "tensors" : what.substr(0, end);
  }
  void check_points(const at::Tensor& mask) {
    const auto wanted = fixture_.arrays.find("reference_points_cam");
    if (wanted == fixture_.arrays.end()) return;
    const nlohmann::json& stride = fixture_.expected["npz"]["reference_points_cam"]["stride"];
    at::Tensor visible = mask;
    for (int64_t d = 0; d < 4; ++d) {
      visible = visible.slice(d, 0, c10::nullopt, stride[static_cast<size_t>(d)].get<int64_t>());
    }
    const at::Tensor difference =
        (strided("reference_points_cam", points_) - wanted->second.to(at::kDouble)).abs() *
        visible.unsqueeze(-1);
    check("reference_points_cam", difference.max().item<double>(), kTensors);
  }

  const Fixture& fixture_;
  const bool shows_all_;
  at::Tensor points_;
  std::map<std::string, bool> seen_;
  std::map<std::string, double> worst_;
  int count_ = 0;
  int failures_ = 0;
};

std::vector<Objects> objects_of(const Fixture& fixture) {
  return {{.boxes = fixture.arrays.at("gt_boxes"),
           .labels = fixture.arrays.at("gt_labels").to(at::kLong)}};
}

DetectionLossOptions loss_options(const Fixture& fixture) {
  const nlohmann::json& c = fixture.expected["config"];
  return {.class_weight = c["loss_cls_weight"],
          .box_weight = c["loss_bbox_weight"],
          .class_cost = c["cost_cls_weight"],
          .box_cost = c["cost_reg_weight"],
          .focal_alpha = c["focal_alpha"],
          .focal_gamma = c["focal_gamma"],
          .code_weights = c["code_weights"].get<std::vector<double>>()};
}

// Returns the sum of all losses.
at::Tensor compare_losses(const Fixture& fixture, const BevDetections& out,
                          Comparison& comparison) {
  const nlohmann::json& expected = fixture.expected;
  double num_objects = 0;
  for (const Objects& sample : objects_of(fixture))
    num_objects += static_cast<double>(sample.labels.size(0));
  const std::vector<LayerLoss> layers =
      detection_losses(out.logits, out.boxes, objects_of(fixture), loss_options(fixture),
                       std::max<double>(1, num_objects));
  const auto relative = [](double own, double wanted) { return std::abs(own / wanted - 1); };
  at::Tensor total = at::zeros({}, out.logits.options());
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = i + 1 == layers.size() ? "" : fmt::format("d{}.", i);
    for (const auto& [loss, name] : {std::pair(layers[i].classes, prefix + "loss_cls"),
                                     std::pair(layers[i].boxes, prefix + "loss_bbox")}) {
      comparison.check("losses " + name,
                       relative(loss.item<double>(), expected["losses"][name].get<double>()),
                       kLosses);
      total = total + loss;
    }
    comparison.check(
        fmt::format("assignments {}", i),
        relative(layers[i].matching.cost, expected["assignment_cost"][i].get<double>()), kLosses);
  }
  comparison.check("losses total",
                   relative(total.item<double>(), expected["total_loss"].get<double>()), kLosses);
  return total;
}

void compare_gradients(const Fixture& fixture, BevFormerNetwork& network, Comparison& comparison) {
  double sum = 0;
  int64_t num_trainable = 0;
  for (const auto& item : network.named_parameters()) {
    const at::Tensor& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    num_trainable += parameter.numel();
    if (!parameter.grad().defined()) {
      comparison.check("gradients " + item.key() + ": none", INFINITY, 0);
      continue;
    }
    const at::Tensor gradient = parameter.grad().to(at::kDouble);
    sum += gradient.square().sum().item<double>();
    const nlohmann::json& all = fixture.expected["grads"];
    if (!all.contains(item.key())) continue;
    const nlohmann::json& wanted = all[item.key()];
    const bool is_loose = item.key().starts_with("img_backbone") ||
                          item.key().find("sampling_offsets") != std::string::npos;
    const auto norm = wanted["norm"].get<double>();
    comparison.check("gradients " + item.key(), std::abs(gradient.norm().item<double>() / norm - 1),
                     is_loose ? kLooseGradients : kGradients);
    // Of the first eight: their difference, against what eight of them have on average, or these.
    const auto first8 = wanted["first8"].get<std::vector<double>>();
    const at::Tensor few = at::tensor(first8, at::kDouble);
    const double expected_norm =
        std::max(few.norm().item<double>(),
                 norm * std::sqrt(double(first8.size()) / double(gradient.numel())));
    const at::Tensor own = gradient.flatten().narrow(0, 0, static_cast<int64_t>(first8.size()));
    comparison.check("first8 " + item.key(), (own - few).norm().item<double>() / expected_norm,
                     is_loose ? kLooseGradients : kGradients);
  }
  comparison.check("parameters",
                   double(num_trainable != fixture.expected["trainable_parameters"].get<int64_t>()),
                   0);
  comparison.check("gradients total",
                   std::abs(std::sqrt(sum) / fixture.expected["grad_norm_total"].get<double>() - 1),
                   kTotalGradient);
}

void compare_boxes(const Fixture& fixture, const BevDetections& out, const std::string& what,
                   Comparison& comparison) {
  const nlohmann::json& config = fixture.expected["config"];
  const DetectedBoxes found =
      decode_boxes(out.logits.detach()[-1][0], out.boxes.detach()[-1][0],
                   {.max_boxes = config["max_num"],
                    .range = config["post_center_range"].get<std::array<double, 6>>()});
  comparison.check(what + " number",
                   double(found.boxes.size(0) != fixture.expected["boxes_total"].get<int64_t>()),
                   0);
  const nlohmann::json& wanted = fixture.expected["boxes"];
  for (size_t i = 0; i < wanted.size() && static_cast<int64_t>(i) < found.boxes.size(0); ++i) {
    const auto row = static_cast<int64_t>(i);
    double deviation =
        std::abs(found.scores[row].item<double>() - wanted[i]["score"].get<double>());
    for (size_t k = 0; k < 9; ++k) {
      const double difference = std::abs(found.boxes[row][static_cast<int64_t>(k)].item<double>() -
                                         wanted[i]["box"][k].get<double>());
      // A yaw just below pi and one just above -pi are neighbours.
      deviation = std::max(
          deviation, k == 6 ? std::min(difference, std::abs(difference - 2 * M_PI)) : difference);
    }
    if (found.labels[row].item<int64_t>() != wanted[i]["label"].get<int64_t>())
      deviation = INFINITY;
    comparison.check(fmt::format("{} {}", what, i), deviation, kBoxes);
  }
}

bool compare(const fs::path& folder, const std::string& name, const fs::path& root, bool in_float32,
             bool shows_all) {
  const Fixture fixture = read_fixture(folder, name);
  fmt::print("{}\n", name);
  std::vector<BevFrame> frames = read_frames(fixture, root);
  BevFormerNetwork network(fixture.config());
  set_weights(fixture, network);
  if (!in_float32) {
    network.to(at::kDouble);
    for (BevFrame& frame : frames) frame.images = frame.images.to(at::kDouble);
  }
  Comparison comparison(fixture, shows_all);
  comparison.check_tensor("image", frames.back().images[0]);
  network.train(true);
  const BevDetections out =
      network.forward(frames, [&](const std::string& tensor, const at::Tensor& value) {
        comparison.check_tensor(tensor, value);
      });
  comparison.finish_tensors();
  compare_losses(fixture, out, comparison).backward();
  compare_gradients(fixture, network, comparison);
  compare_boxes(fixture, out, "boxes", comparison);
  // Frame by frame, as a validation runs.
  const at::NoGradGuard no_grad;
  network.train(false);
  at::Tensor previous;
  BevDetections last;
  for (const BevFrame& frame : frames) {
    last = network.detect(frame, previous);
    previous = last.bev;
  }
  compare_boxes(fixture, last, "streamed", comparison);
  return comparison.report();
}

int run(int argc, char** argv) {
  CLI::App app("Holds ffkit's BEVFormer against what the published code computes");
  fs::path folder, root;
  std::string only;
  bool in_float32 = false;
  bool shows_all = false;
  app.add_option("folder", folder, "Folder of NAME.expected.json, .npz and weights")->required();
  app.add_option("--root", root, "nuScenes root of the pictures; default: FOLDER/../nuscenes/root");
  app.add_option("--only", only, "One fixture");
  app.add_flag("--all", shows_all, "Show every comparison, not only what is too far");
  app.add_flag("--float32", in_float32, "Compute in float32, as training does");
  CLI11_PARSE(app, argc, argv);
  if (root.empty()) root = folder / ".." / "nuscenes" / "root";
  const std::vector<std::string> names = only.empty() ? fixture_names(folder) : std::vector{only};
  if (names.empty()) {
    std::cerr << folder.string() << ": has no NAME.expected.json\n";
    return 1;
  }
  bool is_good = true;
  for (const std::string& name : names)
    is_good = compare(folder, name, root, in_float32, shows_all) && is_good;
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace ffkit::testing

int main(int argc, char** argv) {
  try {
    return ffkit::testing::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "bevformer_compare: " << e.what() << '\n';
    return 1;
  }
}
