#include "tasks/gpt2/parallel/gpt2_parts.h"

#include <fmt/format.h>

#include <cstdlib>

namespace ffkit {
namespace {

constexpr std::string_view kBlocks = "transformer.h.";

}  // namespace

std::vector<std::string> Gpt2Parts::names() const {
  std::vector<std::string> out = {"transformer.wte.weight", "transformer.wpe.weight"};
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const char* module :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
      for (const char* kind : {"weight", "bias"})
        out.push_back(fmt::format("{}{}.{}.{}", kBlocks, layer, module, kind));
    }
  }
  out.emplace_back("transformer.ln_f.weight");
  out.emplace_back("transformer.ln_f.bias");
  return out;
}

std::vector<int64_t> Gpt2Parts::whole_shape(const std::string& name) const {
  const int64_t e = config_.width;
  if (name.ends_with("wte.weight")) return {config_.vocabulary, e};
  if (name.ends_with("wpe.weight")) return {config_.positions, e};
  if (name.ends_with("c_attn.weight")) return {e, 3 * e};
  if (name.ends_with("c_attn.bias")) return {3 * e};
  if (name.ends_with("attn.c_proj.weight")) return {e, e};
  if (name.ends_with("c_fc.weight")) return {e, 4 * e};
  if (name.ends_with("c_fc.bias")) return {4 * e};
  if (name.ends_with("mlp.c_proj.weight")) return {4 * e, e};
  return {e};
}

int Gpt2Parts::stage_of(const std::string& name) const {
  if (name.starts_with("transformer.ln_f.")) return pipeline_ - 1;
  if (!name.starts_with(kBlocks)) return 0;
  const int64_t layer = std::strtoll(name.c_str() + kBlocks.size(), nullptr, 10);
  for (int stage = 0; stage < pipeline_; ++stage) {
    if (layer < config_.layers * (stage + 1) / pipeline_) return stage;
  }
  return pipeline_ - 1;
}

std::vector<int> Gpt2Parts::holders(const std::string& name) const {
  const int first = stage_of(name) * tensor_;
  std::vector<int> out = {first};
  if (cut(name, first).runs.empty()) return out;  // all have it
  for (int i = 1; i < tensor_; ++i) out.push_back(first + i);
  return out;
}

TensorCut Gpt2Parts::cut(const std::string& name, int rank) const {
  return tensor_cut(name, whole_shape(name), rank % tensor_, tensor_);
}

}  // namespace ffkit
