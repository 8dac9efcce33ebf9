#include "tasks/gpt2/network/gpt2_config.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <span>
#include <tuple>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "files/durable_file.h"

namespace ffkit {
namespace {

using Gpt2Json = nlohmann::ordered_json;

constexpr int64_t kMostOfAnything = 1 << 24;

[[noreturn]] void refuse_config(const std::filesystem::path& file, const std::string& message) {
  throw Error(ErrorCode::unsupported, message, {.path = file.string()});
}

template <typename T>
void require_value(const std::filesystem::path& file, const Gpt2Json& json, const char* key,
                   const T& wanted) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null() || *it == wanted) return;
  refuse_config(file, fmt::format("has {} {}, which is not GPT-2's; ffkit computes GPT-2 alone",
                                  key, it->dump()));
}

}  // namespace

double Gpt2Config::training_flops_per_token(int64_t context) const {
  const double multiplied =
      12.0 * double(layers) * double(width * width) + double(vocabulary * width);
  return 6 * multiplied + 12.0 * double(layers) * double(width) * double(context);
}

int64_t Gpt2Config::num_parameters() const {
  return vocabulary * width + positions * width + layers * (12 * width * width + 13 * width) +
         2 * width;
}

std::vector<std::string> gpt2_names() {
  return {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"};
}

Gpt2Config gpt2_config(const std::string& name) {
  if (name == "gpt2") return {};
  if (name == "gpt2-medium") return {.layers = 24, .heads = 16, .width = 1024};
  if (name == "gpt2-large") return {.layers = 36, .heads = 20, .width = 1280};
  if (name == "gpt2-xl") return {.layers = 48, .heads = 25, .width = 1600};
  throw Error(ErrorCode::invalid_argument, fmt::format("GPT-2: there is no arch '{}'", name));
}

std::string gpt2_problem(const Gpt2Config& c) {
  for (const auto& [name, value] :
       {std::pair("layers", c.layers), std::pair("heads", c.heads), std::pair("width", c.width),
        std::pair("positions", c.positions), std::pair("vocabulary", c.vocabulary)}) {
    if (value >= 1 && value <= kMostOfAnything) continue;
    return fmt::format("a GPT-2 of {} {} is not possible", value, name);
  }
  if (c.width % c.heads != 0)
    return fmt::format("a width of {} cannot be divided among {} heads", c.width, c.heads);
  return {};
}

Gpt2Config read_gpt2_config(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorCode::not_found, "cannot be read", {.path = file.string()});
  Gpt2Config config;
  try {
    const Gpt2Json json = Gpt2Json::parse(in);
    require_value(file, json, "model_type", "gpt2");
    require_value(file, json, "scale_attn_weights", true);
    require_value(file, json, "scale_attn_by_inverse_layer_idx", false);
    require_value(file, json, "add_cross_attention", false);
    require_value(file, json, "tie_word_embeddings", true);
    const std::string activation = json.value("activation_function", std::string("gelu_new"));
    if (activation != "gelu_pytorch_tanh")
      require_value(file, json, "activation_function", "gelu_new");
    config.layers = json.value("n_layer", config.layers);
    config.heads = json.value("n_head", config.heads);
    config.width = json.value("n_embd", config.width);
    config.positions = json.value("n_positions", json.value("n_ctx", config.positions));
    config.vocabulary = json.value("vocab_size", config.vocabulary);
    config.dropout = json.value("resid_pdrop", config.dropout);
    config.norm_epsilon = json.value("layer_norm_epsilon", config.norm_epsilon);
    require_value(file, json, "n_inner", 4 * config.width);
  } catch (const Gpt2Json::exception&) {
    throw Error(ErrorCode::corrupt, "is not the config.json of a GPT-2", {.path = file.string()});
  }
  const std::string problem = gpt2_problem(config);
  if (!problem.empty()) throw Error(ErrorCode::corrupt, problem, {.path = file.string()});
  return config;
}

void check_gpt2_config(const std::filesystem::path& weights, const Gpt2Config& config) {
  const std::filesystem::path folder =
      std::filesystem::is_directory(weights) ? weights : weights.parent_path();
  const std::filesystem::path file = folder / "config.json";
  if (!std::filesystem::exists(file)) return;
  const Gpt2Config other = read_gpt2_config(file);
  for (const auto& [name, theirs, own] :
       {std::tuple("layers", other.layers, config.layers),
        std::tuple("heads", other.heads, config.heads),
        std::tuple("width", other.width, config.width),
        std::tuple("positions", other.positions, config.positions),
        std::tuple("tokens", other.vocabulary, config.vocabulary)}) {
    if (theirs == own) continue;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("is of a GPT-2 with {} {}, but the network here has {}", theirs, name, own),
        {.path = file.string()});
  }
}

void write_gpt2_config(const std::filesystem::path& file, const Gpt2Config& config,
                       std::optional<int64_t> end_token) {
  Gpt2Json json = {{"architectures", {"GPT2LMHeadModel"}},
                   {"model_type", "gpt2"},
                   {"activation_function", "gelu_new"},
                   {"n_layer", config.layers},
                   {"n_head", config.heads},
                   {"n_embd", config.width},
                   {"n_inner", nullptr},
                   {"n_positions", config.positions},
                   {"n_ctx", config.positions},
                   {"vocab_size", config.vocabulary},
                   {"embd_pdrop", config.dropout},
                   {"attn_pdrop", config.dropout},
                   {"resid_pdrop", config.dropout},
                   {"layer_norm_epsilon", config.norm_epsilon},
                   {"initializer_range", 0.02},
                   {"scale_attn_weights", true},
                   {"tie_word_embeddings", true},
                   {"use_cache", true}};
  if (end_token) {
    json["bos_token_id"] = *end_token;
    json["eos_token_id"] = *end_token;
  }
  const std::string text = json.dump(2) + "\n";
  write_durably(file, [&](File& out) { out.write(std::as_bytes(std::span(text))); });
}

}  // namespace ffkit
