#include "tasks/gpt2/network/gpt2_weights.h"

#include <ATen/ops/equal.h>

#include <algorithm>
#include <string_view>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr std::string_view kTransformer = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kTokens = "transformer.wte.weight";
constexpr std::string_view kPositions = "wpe.weight";

// What is before "transformer.", or before the names where that is left out, such as "model.". The
// shortest: copies of a model are named after it.
std::string_view words_before(const std::vector<NamedTensor>& tensors) {
  const NamedTensor* found = nullptr;
  for (const NamedTensor& t : tensors) {
    const bool is_it = t.name == kPositions || t.name.ends_with('.' + std::string(kPositions));
    if (is_it && (found == nullptr || t.name.size() < found->name.size())) found = &t;
  }
  if (found == nullptr) return {};
  std::string_view words = found->name;
  words.remove_suffix(kPositions.size());
  if (words.ends_with(kTransformer) &&
      (words.size() == kTransformer.size() || words[words.size() - kTransformer.size() - 1] == '.'))
    words.remove_suffix(kTransformer.size());
  return words;
}

}  // namespace

void name_gpt2_tensors(const std::string& file, std::vector<NamedTensor>& tensors) {
  const std::string words(words_before(tensors));
  std::erase_if(tensors, [&](const NamedTensor& t) {
    return t.name.ends_with(".attn.bias") || t.name.ends_with(".attn.masked_bias");
  });
  for (NamedTensor& t : tensors) {
    if (!t.name.starts_with(words)) continue;  // of another model, which is refused by its name
    t.name.erase(0, words.size());
    if (t.name != kHead && !t.name.starts_with(kTransformer)) t.name.insert(0, kTransformer);
  }
  const auto find = [&](std::string_view name) {
    return std::ranges::find(tensors, name, &NamedTensor::name);
  };
  const auto head = find(kHead);
  if (head == tensors.end()) return;
  const auto embedding = find(kTokens);
  if (embedding == tensors.end()) {
    // safetensors' save_model() keeps one of two names of a tensor.
    head->name = kTokens;
    return;
  }
  if (!at::equal(head->tensor, embedding->tensor)) {
    throw error_at(file, ErrorCode::unsupported,
                   "its lm_head.weight is not its wte.weight; ffkit computes GPT-2, which has one "
                   "tensor for both");
  }
  tensors.erase(head);
}

}  // namespace ffkit
