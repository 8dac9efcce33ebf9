#include "tasks/bevformer/network/backbone_weights.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <ffkit/trainer/module_model.h>

#include "checkpoint/weights.h"

namespace ffkit {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes = {"img_backbone.", "backbone."};

// The tensors whose names begin with `prefix`, without it.
std::vector<NamedTensor> behind(const std::vector<NamedTensor>& tensors, std::string_view prefix) {
  std::vector<NamedTensor> out;
  for (const NamedTensor& t : tensors) {
    if (t.name.starts_with(prefix)) out.push_back({t.name.substr(prefix.size()), t.tensor});
  }
  return out;
}

}  // namespace

void load_backbone(const std::filesystem::path& file, BevFormerNetwork& network) {
  Weights weights = read_weights(file);
  for (const std::string_view prefix : kPrefixes) {
    std::vector<NamedTensor> own = behind(weights.tensors, prefix);
    if (own.empty()) continue;
    weights.tensors = std::move(own);
    break;
  }
  std::erase_if(weights.tensors, [](const NamedTensor& t) { return t.name.starts_with("fc."); });
  ModuleModel backbone(network.backbone());
  load_weights(weights, {.name = "backbone of " + network.config().backbone, .choice = "--arch"},
               backbone, HeadPolicy::must_fit);
}

}  // namespace ffkit
