#include "tasks/gpt2/data/weights_source.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include <ffkit/base/option_names.h>
#include <ffkit/text/tokenizer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "checkpoint/checkpoint_parts.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "tasks/gpt2/data/gpt2_data.h"

namespace ffkit {
namespace {

// None where there is none, or one that ffkit does not read.
std::optional<text::Tokenizer> tokenizer_of(const WeightsSource& source) {
  try {
    if (!source.run) return text::Tokenizer::open(source.file.parent_path());
    const std::string text = Gpt2Facts::of(source.run->facts).tokenizer;
    if (!text.empty()) return text::Tokenizer::from_json(text);
  } catch (const Error&) {
    return std::nullopt;  // it is no part of what is read here
  }
  return std::nullopt;
}

}  // namespace

WeightsSource find_gpt2_weights(const std::filesystem::path& path) {
  WeightsSource out{.file = resolve_checkpoint(path), .config_file = {}, .config = {}, .run = {}};
  out.config_file = out.file;
  if (holds_weights_alone(out.file)) {
    out.config_file = out.file.parent_path() / "config.json";
    if (std::filesystem::exists(out.config_file)) out.config = read_gpt2_config(out.config_file);
    return out;
  }
  out.run = read_checkpoint_info(out.file);
  if (out.run->options.task_name() != "gpt2") {
    throw error_at(out.file, ErrorCode::invalid_argument,
                   "is of the task {}, but weights of gpt2 are wanted",
                   out.run->options.task_name());
  }
  out.config = configured_network(gpt2(out.run->options), Gpt2Facts::of(out.run->facts).vocabulary);
  return out;
}

void take_gpt2_settings(Gpt2Options& options, const std::filesystem::path& weights) {
  const WeightsSource source = find_gpt2_weights(weights);
  if (options.resize_vocabulary && options.tensor_parallel * options.pipeline_parallel > 1 &&
      is_in_parts(source.file)) {
    throw error_at(source.file, ErrorCode::unsupported,
                   "is in parts, which are read as they are; export it (fftrain --export) and take "
                   "that with {}",
                   option_name("resize_vocabulary"));
  }
  if (!source.config) return;
  const double theirs = source.config->norm_epsilon;
  if (options.norm_epsilon != 0 && options.norm_epsilon != theirs) {
    throw error_at(source.file, ErrorCode::invalid_argument,
                   "is of a network with a layer_norm_epsilon of {}, but {} is {}; "
                   "leave that option out",
                   theirs, option_name("layer_norm_epsilon"), options.norm_epsilon);
  }
  if (theirs != Gpt2Config{}.norm_epsilon) options.norm_epsilon = theirs;
}

void check_gpt2_config(const std::filesystem::path& weights, const Gpt2Config& config,
                       bool any_vocabulary) {
  const WeightsSource source = find_gpt2_weights(weights);
  if (!source.config) return;
  const Gpt2Config& other = *source.config;
  for (const auto& [name, theirs, own] :
       {std::tuple("layers", other.layers, config.layers),
        std::tuple("heads", other.heads, config.heads),
        std::tuple("width", other.width, config.width),
        std::tuple("positions", other.positions, config.positions),
        std::tuple("tokens", other.vocabulary, config.vocabulary)}) {
    const bool is_vocabulary = std::string_view(name) == "tokens";
    if (theirs == own || (is_vocabulary && any_vocabulary)) continue;
    throw error_at(
        source.config_file, ErrorCode::invalid_argument,
        "is of a GPT-2 with {} {}, but the network here has {}{}", theirs, name, own,
        is_vocabulary ? fmt::format("; {} takes it", option_name("resize_vocabulary")) : "");
  }
}

void check_same_tokens(const std::filesystem::path& weights, const std::string& tokenizer) {
  const WeightsSource source = find_gpt2_weights(weights);
  const std::optional<text::Tokenizer> theirs = tokenizer_of(source);
  if (!theirs || tokenizer.empty()) return;
  const text::Tokenizer own = text::Tokenizer::from_json(tokenizer);
  const int64_t both = std::min(theirs->vocabulary_size(), own.vocabulary_size());
  for (uint32_t id = 0; id < both; ++id) {
    if (theirs->token_bytes(id) == own.token_bytes(id)) continue;
    throw error_at(source.file, ErrorCode::invalid_argument,
                   "its tokenizer's token {} is '{}', but that of the data is '{}'; convert the "
                   "data with the tokenizer of the weights",
                   id, printable(theirs->token_bytes(id)), printable(own.token_bytes(id)));
  }
}

void resize_gpt2_vocabulary(std::vector<NamedTensor>& tensors, int64_t vocabulary) {
  const auto found = std::ranges::find(tensors, "transformer.wte.weight", &NamedTensor::name);
  if (found == tensors.end() || found->tensor.dim() != 2 || found->tensor.size(0) == 0) return;
  at::Tensor& rows = found->tensor;
  const int64_t added = vocabulary - rows.size(0);
  if (added <= 0) {
    rows = rows.narrow(0, 0, vocabulary);
    return;
  }
  const at::Tensor mean = rows.to(at::kDouble).mean(0, /*keepdim=*/true).to(rows.scalar_type());
  rows = at::cat({rows, mean.expand({added, rows.size(1)})});
}

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
