// The network: maps, coordinates, losses, gradients and running statistics.
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare.h"
#include "tasks/rootnet/data/person_crop.h"
#include "tasks/rootnet/data/rootnet_data.h"
#include "tasks/rootnet/network/rootnet_network.h"

namespace ffkit::testing {
namespace {

using nlohmann::json;

// What is allowed of a mode, relative: of tensors to the largest value, of gradients by norm.
struct Tolerances {
  double tensors = 1e-4, coordinates = 1e-4, loss = 1e-5, gradients = 1e-3;
};

at::Tensor targets_of(const json& samples) {
  std::vector<at::Tensor> rows;
  for (const json& sample : samples) {
    std::vector<float> row = sample["target_coord"].get<std::vector<float>>();
    row.push_back(sample["target_vis"][0]);
    row.push_back(sample["target_have_depth"]);
    row.push_back(sample["k_value"]);
    for (const json& factor : sample["color_scale"]) row.push_back(factor);
    rows.push_back(at::tensor(row, at::kFloat));
  }
  return at::stack(rows);
}

double difference(const at::Tensor& own, const at::Tensor& wanted) {
  return (own.to(at::kDouble) - wanted.to(at::kDouble)).abs().max().item<double>();
}

double first_difference(const at::Tensor& own, const json& first) {
  const at::Tensor wanted = at::tensor(first.get<std::vector<double>>(), at::kDouble);
  return difference(own.flatten().narrow(0, 0, wanted.numel()), wanted);
}

double statistics_deviation(const at::Tensor& value, const json& wanted) {
  const at::Tensor own = value.detach().to(at::kDouble);
  if (own.sizes() != wanted["shape"].get<std::vector<int64_t>>()) return INFINITY;
  const double largest =
      std::max(std::abs(wanted["min"].get<double>()), std::abs(wanted["max"].get<double>()));
  double deviation = first_difference(own, wanted["first16"]);
  for (const auto& [number, at] :
       {std::pair(own.mean(), "mean"), std::pair(own.min(), "min"), std::pair(own.max(), "max"),
        std::pair(own.std(/*unbiased=*/false), "std")}) {
    if (wanted.contains(at)) {
      deviation = std::max(deviation, std::abs(number.item<double>() - wanted[at].get<double>()));
    }
  }
  return deviation / largest;
}

// The part of a tensor that the .npz has of eval mode.
at::Tensor stored_part(const std::string& name, const at::Tensor& own) {
  if (name == "backbone") return own.slice(1, 0, c10::nullopt, 16);
  if (name == "deconv_layers.7") {
    return own.slice(1, 0, c10::nullopt, 16)
        .slice(2, 0, c10::nullopt, 2)
        .slice(3, 0, c10::nullopt, 2);
  }
  return own;
}

void compare_gradients(const json& wanted, RootNetNetwork& network, const std::string& mode,
                       double tolerance, Deviations& deviations) {
  double sum = 0;
  for (const auto& item : network.named_parameters()) {
    const at::Tensor gradient = item.value().grad().to(at::kDouble);
    sum += gradient.square().sum().item<double>();
    // Zero but for rounding, behind a softmax.
    if (!wanted["grads"].contains(item.key()) || item.key() == "root.xy_layer.bias") continue;
    const json& one = wanted["grads"][item.key()];
    const auto norm = one["norm"].get<double>();
    deviations.check(mode + ": gradients", item.key(),
                     std::abs(gradient.norm().item<double>() / norm - 1), tolerance);
    const at::Tensor few = at::tensor(one["first8"].get<std::vector<double>>(), at::kDouble);
    const double scale = std::max(few.norm().item<double>(),
                                  norm * std::sqrt(double(few.numel()) / double(gradient.numel())));
    deviations.check(
        mode + ": first gradients", item.key(),
        (gradient.flatten().narrow(0, 0, few.numel()) - few).norm().item<double>() / scale,
        tolerance);
  }
  deviations.check(mode + ": gradients", "total",
                   std::abs(std::sqrt(sum) / wanted["grad_norm_total"].get<double>() - 1),
                   tolerance);
}

void compare_running_statistics(const json& wanted, RootNetNetwork& network,
                                const std::string& mode, double tolerance, Deviations& deviations) {
  std::map<std::string, at::Tensor> own;
  for (const auto& item : network.named_buffers()) own[item.key()] = item.value();
  for (const auto& [name, first] : wanted.items()) {
    const double largest =
        at::tensor(first.get<std::vector<double>>(), at::kDouble).abs().max().item<double>();
    deviations.check(mode + ": running statistics", name,
                     first_difference(own.at(name), first) / largest, tolerance);
  }
}

}  // namespace

void compare_network(const RootNetFixture& fixture, const std::string& mode, bool in_float32,
                     Deviations& deviations) {
  const json& expected = fixture.expected;
  const json& wanted = expected[mode];
  const bool is_train = mode == "train_mode";
  Tolerances allowed;
  // Batch statistics of two samples: float32 itself is off by 1e-4 in tensors, 3 % in gradients and
  // 4e-6 in the loss (the files' README), and both sides are float32: twice that.
  if (is_train) allowed = {.tensors = 2e-4, .coordinates = 1e-4, .loss = 1e-5, .gradients = 0.06};
  RootNetNetwork network(
      rootnet_config("resnet" + std::to_string(expected["config"]["resnet_type"].get<int>())));
  set_weights(fixture.weights, network);
  const at::Tensor targets = targets_of(expected["samples"]);
  at::Tensor input = normalised_crops(fixture.arrays.at("crop_u8"), targets);
  if (mode == "eval_mode") {
    // Float for float: the normalisation is the published one's.
    deviations.check("input", "statistics",
                     statistics_deviation(input.contiguous(), expected["input"]), 1e-6);
    deviations.check("input", "values",
                     difference(input.slice(2, 0, c10::nullopt, 8).slice(3, 0, c10::nullopt, 8),
                                fixture.arrays.at("input")),
                     1e-4);
  }
  // In the published code's memory format. In channels_last, libtorch's batch norm adds up in
  // float32, not in float64.
  input = input.contiguous();
  at::Tensor numbers = targets;
  if (!in_float32) {
    network.to(at::kDouble);
    input = input.to(at::kDouble);
    numbers = targets.to(at::kDouble);
  }
  network.train(is_train);
  if (mode == "root_train_mode") {
    for (const auto& item : network.named_children()) item.value()->train(item.key() == "root");
  }
  const at::Tensor coordinates = network.forward(
      input, numbers.select(1, CropTarget::kK),
      [&](const std::string& name, const at::Tensor& value) {
        if (!wanted["tensors"].contains(name)) return;
        deviations.check(mode + ": tensors", name,
                         statistics_deviation(value.contiguous(), wanted["tensors"][name]),
                         allowed.tensors);
        std::string file = name == "deconv_layers.7" ? "deconv_layers_7" : name;
        if (is_train && name == "xy_layer") file = "xy_layer_train_mode";
        const auto array = fixture.arrays.find(file);
        if (array == fixture.arrays.end() ||
            (mode != "eval_mode" && file.find("train") == std::string::npos))
          return;
        const double largest = array->second.abs().max().item<double>();
        deviations.check(mode + ": stored tensors", name,
                         difference(stored_part(name, value.detach()), array->second) / largest,
                         allowed.tensors);
      });
  for (int64_t i = 0; i < coordinates.size(0); ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      const auto value =
          wanted["coord"][static_cast<size_t>(i)][static_cast<size_t>(k)].get<double>();
      deviations.check(
          mode + ": coordinates", fmt::format("{} {}", i, k),
          std::abs(coordinates[i][k].item<double>() - value) / std::max(1.0, std::abs(value)),
          allowed.coordinates);
    }
  }
  const at::Tensor losses = rootnet_losses(coordinates, numbers.narrow(1, CropTarget::kX, 3),
                                           numbers.select(1, CropTarget::kVisible),
                                           numbers.select(1, CropTarget::kHaveDepth));
  const at::Tensor loss = losses.mean();
  deviations.check(mode + ": loss", "",
                   std::abs(loss.item<double>() / wanted["loss"].get<double>() - 1), allowed.loss);
  loss.backward();
  compare_gradients(wanted, network, mode, allowed.gradients, deviations);
  if (wanted.contains("batchnorm_after_one_step")) {
    compare_running_statistics(wanted["batchnorm_after_one_step"], network, mode, allowed.tensors,
                               deviations);
  }
}

}  // namespace ffkit::testing
