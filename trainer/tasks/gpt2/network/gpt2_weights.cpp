#include "tasks/gpt2/network/gpt2_weights.h"

#include <ATen/ops/equal.h>

#include <algorithm>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr std::string_view kTransformer = "transformer.";
constexpr char kHead[] = "lm_head.weight";
constexpr char kTokens[] = "transformer.wte.weight";

}  // namespace

void name_gpt2_tensors(const std::string& file, std::vector<NamedTensor>& tensors) {
  std::erase_if(tensors, [](const NamedTensor& t) {
    return t.name.ends_with(".attn.bias") || t.name.ends_with(".attn.masked_bias");
  });
  for (NamedTensor& t : tensors) {
    if (t.name != kHead && !t.name.starts_with(kTransformer)) t.name.insert(0, kTransformer);
  }
  const auto find = [&](const char* name) {
    return std::ranges::find(tensors, name, &NamedTensor::name);
  };
  const auto head = find(kHead);
  if (head == tensors.end()) return;
  const auto embedding = find(kTokens);
  if (embedding != tensors.end() && !at::equal(head->tensor, embedding->tensor)) {
    throw Error(ErrorCode::unsupported,
                "its lm_head.weight is not its wte.weight; ffkit computes GPT-2, which has one "
                "tensor for both",
                {.path = file});
  }
  tensors.erase(head);
}

}  // namespace ffkit
