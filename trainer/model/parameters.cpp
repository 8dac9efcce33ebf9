#include "model/parameters.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/stack.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "base/number_text.h"

namespace ffkit {

std::vector<NamedTensor> trained_parameters(const Model& model) {
  std::vector<NamedTensor> parameters = model.parameters();
  std::erase_if(parameters, [](const NamedTensor& p) { return !p.tensor.requires_grad(); });
  return parameters;
}

namespace {

constexpr std::string_view kBackbone = "backbone";

bool is_of_head(const std::string& parameter, const std::string& head) {
  return !head.empty() && parameter.starts_with(head + ".");
}

bool fits(const std::string& parameter, const std::string& pattern, const std::string& head) {
  if (pattern == kBackbone) return !is_of_head(parameter, head);
  // A module stands for all of its parameters.
  return ::fnmatch(pattern.c_str(), parameter.c_str(), 0) == 0 ||
         ::fnmatch((pattern + ".*").c_str(), parameter.c_str(), 0) == 0;
}

// "layer1.0" of "layer1.0.conv1.weight", "features.3.1" of "features.3.1.block.0.weight",
// "encoder.layers.encoder_layer_3" of what is in it; empty: no block's.
std::string block_of(const std::string& parameter) {
  size_t end_of_block = 0;
  for (size_t begin = 0; begin < parameter.size();) {
    const size_t end = std::min(parameter.find('.', begin), parameter.size());
    const std::string_view part = std::string_view(parameter).substr(begin, end - begin);
    const bool is_first = end_of_block == 0;
    // The number of a block may end a name, that of a block in a stage stands alone: "ln_1" is no
    // block of its own.
    const size_t line = is_first ? part.rfind('_') : std::string_view::npos;
    if (number_of_text<uint64_t>(line == std::string_view::npos ? part : part.substr(line + 1))) {
      end_of_block = end;
    } else if (!is_first) {
      break;
    }
    begin = end + 1;
  }
  return parameter.substr(0, end_of_block);
}

}  // namespace

void freeze_parameters(const std::string& patterns, const Model& model, const std::string& head) {
  const std::vector<NamedTensor> parameters = model.parameters();
  std::istringstream in(patterns);
  for (std::string pattern; std::getline(in, pattern, ',');) {
    if (pattern.empty()) continue;
    if (pattern == kBackbone && head.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "this network has no head, so the word 'backbone' has no meaning in freeze; give "
                  "names of parameters");
    }
    bool is_there = false;
    for (const NamedTensor& p : parameters) {
      if (!fits(p.name, pattern, head)) continue;
      p.tensor.set_requires_grad(false);
      is_there = true;
    }
    if (is_there) continue;
    throw error_of(ErrorCode::invalid_argument,
                   "freeze is '{}', but no parameter has such a name; names of parameters are, for "
                   "example, {} and {}",
                   pattern, parameters.front().name, parameters.back().name);
  }
  if (std::ranges::any_of(parameters,
                          [](const NamedTensor& p) { return p.tensor.requires_grad(); }))
    return;
  throw error_of(ErrorCode::invalid_argument,
                 "freeze is '{}', so no parameter is left to train; freeze fewer parameters",
                 patterns);
}

std::map<std::string, double> lr_scales(const TuningRates& rates,
                                        const std::vector<std::string>& parameters,
                                        const std::string& head) {
  std::map<std::string, double> scales;
  if (rates.layer_decay != 1) {
    std::vector<std::string> blocks;
    size_t last_in_block = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string block = is_of_head(parameters[i], head) ? "" : block_of(parameters[i]);
      if (block.empty()) continue;
      last_in_block = i;
      if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string block = is_of_head(parameters[i], head) ? "" : block_of(parameters[i]);
      const bool is_behind =
          block.empty() && (i > last_in_block || is_of_head(parameters[i], head));
      const auto layer = is_behind       ? std::ssize(blocks) + 1
                         : block.empty() ? 0
                                         : std::ranges::find(blocks, block) - blocks.begin() + 1;
      scales[parameters[i]] = std::pow(rates.layer_decay, std::ssize(blocks) + 1 - layer);
    }
  }
  if (rates.lr_head > 0) {
    if (head.empty()) {
      throw Error(ErrorCode::invalid_argument, "this network has no head; leave out lr-head");
    }
    for (const std::string& name : parameters) {
      if (is_of_head(name, head)) scales[name] = rates.lr_head / rates.lr;
    }
  }
  return scales;
}

void zero_init_residual(const Model& model) {
  // By block; parameters are listed in order, so the last one stays.
  std::map<std::string, NamedTensor> last;
  for (const NamedTensor& p : model.parameters()) {
    int length = 0;
    std::sscanf(p.name.c_str(), "layer%*u.%*u.bn%*u.weight%n", &length);
    if (length == std::ssize(p.name))
      last.insert_or_assign(p.name.substr(0, p.name.find(".bn")), p);
  }
  if (last.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} needs a model with residual blocks; leave out this option, or give an {} of "
                   "the ResNet family",
                   option_name("zero_init_residual"), option_name("arch"));
  }
  at::NoGradGuard no_grad;
  for (const auto& [block, p] : last) p.tensor.zero_();
}

std::string first_not_finite(const std::vector<NamedTensor>& tensors, NotFinite what) {
  const at::NoGradGuard no_grad;
  std::vector<const NamedTensor*> checked;
  std::vector<at::Tensor> are_wrong;
  for (const NamedTensor& t : tensors) {
    if (!t.tensor.is_floating_point() || t.tensor.numel() == 0) continue;
    checked.push_back(&t);
    are_wrong.push_back(what == NotFinite::nan_alone ? at::isnan(t.tensor).any()
                                                     : at::isfinite(t.tensor).all().logical_not());
  }
  if (checked.empty()) return {};
  // One copy from a device, not one for each tensor.
  const at::Tensor all = at::stack(are_wrong).cpu();
  const bool* wrong = all.const_data_ptr<bool>();
  for (size_t i = 0; i < checked.size(); ++i) {
    if (wrong[i]) return checked[i]->name;
  }
  return {};
}

ModelAverage::ModelAverage(const Model& model, double decay) : decay_(decay) {
  at::NoGradGuard no_grad;
  for (const std::vector<NamedTensor>& list : {model.parameters(), model.buffers()}) {
    for (const NamedTensor& t : list) {
      values_.push_back(t.tensor);
      averages_.push_back({t.name, t.tensor.detach().clone()});
    }
  }
}

void ModelAverage::update() {
  at::NoGradGuard no_grad;
  // All at once: a GPU would be busier with starting hundreds of kernels than with their work.
  std::vector<at::Tensor> averages, values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_floating_point()) {
      averages.push_back(averages_[i].tensor);
      values.push_back(values_[i]);
    } else {
      averages_[i].tensor.copy_(values_[i]);
    }
  }
  if (!averages.empty()) at::_foreach_lerp_(averages, values, 1 - decay_);
}

void ModelAverage::reset() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) averages_[i].tensor.copy_(values_[i]);
}

void ModelAverage::swap() {
  at::NoGradGuard no_grad;
  // By values: optimisers and gradient buckets keep handles of the tensors.
  for (size_t i = 0; i < values_.size(); ++i) {
    const at::Tensor value = values_[i].clone();
    values_[i].copy_(averages_[i].tensor);
    averages_[i].tensor.copy_(value);
  }
}

}  // namespace ffkit
