#include "tasks/gpt2/network/gpt2_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

using Gpt2Json = nlohmann::ordered_json;

constexpr int64_t kMostOfAnything = 1 << 24;

// Keys that transformers' GPT2Config reads under two names.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"n_layer", "num_hidden_layers"},
    {"n_head", "num_attention_heads"},
    {"n_embd", "hidden_size"},
    {"n_positions", "max_position_embeddings"}};

// Of one config.json. null is as a key that is not there.
class Gpt2ConfigReader {
 public:
  Gpt2ConfigReader(const std::filesystem::path& file, const Gpt2Json& json)
      : file_(file), json_(json) {
    if (!json.is_object()) refuse(ErrorCode::corrupt, "the file is not the config.json of a GPT-2");
  }

  void take_size(const char* key, int64_t& size) const {
    if (const Gpt2Json* value = find(key)) {
      if (!value->is_number_integer()) refuse_value(key, *value, "a whole number");
      size = value->get<int64_t>();
    }
  }
  // `most`: the value is less.
  void take_number(const char* key, double& number, double most) const {
    if (const Gpt2Json* value = find(key)) {
      if (!value->is_number() || !(value->get<double>() >= 0 && value->get<double>() < most))
        refuse_value(key, *value, fmt::format("0 or more and less than {}", most));
      number = value->get<double>();
    }
  }
  // What would be computed in another way is collected, and refused together.
  void require(const char* key, std::initializer_list<Gpt2Json> known) {
    const Gpt2Json* value = find(key);
    if (value == nullptr || std::ranges::find(known, *value) != known.end()) return;
    if (!others_.empty()) others_ += ", ";
    others_ += fmt::format("{} {}", key, value->dump());
  }
  void refuse_others() const {
    if (others_.empty()) return;
    refuse(ErrorCode::unsupported,
           fmt::format("the file has {}, but GPT-2 has other values; ffkit computes only GPT-2",
                       others_));
  }

 private:
  const Gpt2Json* find(const char* key) const {
    auto it = json_.find(key);
    for (const auto& [own, other] : kOtherNames) {
      // Of both, the second one counts in transformers, too.
      if (std::string_view(key) == own && json_.contains(other)) it = json_.find(other);
    }
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  [[noreturn]] void refuse(ErrorCode code, const std::string& message) const {
    throw error_at(file_, code, message);
  }
  [[noreturn]] void refuse_value(const char* key, const Gpt2Json& value,
                                 std::string_view wanted) const {
    refuse(ErrorCode::corrupt,
           fmt::format("'{}' is {}, but must be {}", key, value.dump(), wanted));
  }

  const std::filesystem::path& file_;
  const Gpt2Json& json_;
  std::string others_;
};

}  // namespace

double Gpt2Config::training_flops_per_token(int64_t context) const {
  const double multiplied = 12.0 * layers * (width * width) + vocabulary * width;
  return 6 * multiplied + 12.0 * layers * width * context;
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
  throw error_of(ErrorCode::invalid_argument, "GPT-2 has no arch '{}'", name);
}

std::vector<SizeDifference> gpt2_differences(const Gpt2Config& a, const Gpt2Config& b) {
  std::vector<SizeDifference> out = {{"layers", a.layers, b.layers},
                                     {"heads", a.heads, b.heads},
                                     {"width", a.width, b.width},
                                     {"positions", a.positions, b.positions},
                                     {"tokens", a.vocabulary, b.vocabulary}};
  std::erase_if(out, [](const SizeDifference& d) { return d.first == d.second; });
  return out;
}

std::string gpt2_problem(const Gpt2Config& c) {
  for (const auto& [name, value] :
       {std::pair("layers", c.layers), std::pair("heads", c.heads), std::pair("width", c.width),
        std::pair("positions", c.positions), std::pair("vocabulary", c.vocabulary)}) {
    if (value >= 1 && value <= kMostOfAnything) continue;
    return fmt::format("a GPT-2 with {} {} is not possible", value, name);
  }
  if (c.width % c.heads != 0)
    return fmt::format("the width {} is not a multiple of the number of heads, {}", c.width,
                       c.heads);
  return {};
}

Gpt2Config read_gpt2_config(const std::filesystem::path& file) {
  const Gpt2Json json = Gpt2Json::parse(read_whole_text(file), nullptr, /*allow_exceptions=*/false);
  Gpt2ConfigReader reader(file, json);
  reader.require("model_type", {"gpt2"});
  Gpt2Config config;
  reader.take_size("n_layer", config.layers);
  reader.take_size("n_head", config.heads);
  reader.take_size("n_embd", config.width);
  reader.take_size("n_ctx", config.positions);
  reader.take_size("n_positions", config.positions);
  reader.take_size("vocab_size", config.vocabulary);
  double attention = config.dropout, embedding = config.dropout;
  reader.take_number("attn_pdrop", attention, 1);
  reader.take_number("embd_pdrop", embedding, 1);
  reader.take_number("resid_pdrop", config.dropout, 1);
  if (attention != config.dropout || embedding != config.dropout) {
    config.dropouts = fmt::format("attn_pdrop {}, embd_pdrop {}, resid_pdrop {}", attention,
                                  embedding, config.dropout);
  }
  reader.take_number("layer_norm_epsilon", config.norm_epsilon, 1);
  reader.require("scale_attn_weights", {true});
  reader.require("scale_attn_by_inverse_layer_idx", {false});
  reader.require("reorder_and_upcast_attn", {false});
  reader.require("add_cross_attention", {false});
  reader.require("tie_word_embeddings", {true});
  // Names of one function.
  reader.require("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh",
                                         "gelu_fast", "gelu_accurate"});
  reader.require("n_inner", {4 * config.width});
  reader.require("pruned_heads", {Gpt2Json::object()});
  reader.require("quantization_config", {});
  reader.refuse_others();
  const std::string problem = gpt2_problem(config);
  if (!problem.empty()) throw error_at(file, ErrorCode::corrupt, problem);
  return config;
}

std::string gpt2_config_text(const Gpt2Config& config, std::optional<int64_t> end_token) {
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
  for (const char* key : {"bos_token_id", "eos_token_id"}) {
    json[key] = end_token ? Gpt2Json(*end_token) : Gpt2Json();
  }
  return json.dump(2) + "\n";
}

PythonModel gpt2_python(const Gpt2Config& config, int64_t context) {
  return {.packages = "torch transformers",
          .code = fmt::format(
              R"(import transformers

INPUTS = {{'tokens': torch.arange(2 * {0}).reshape(2, {0}) % {1}}}
OUTPUTS = ['logits']

class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).logits

def make_model(weights):
    config = transformers.GPT2Config(
        n_layer={2}, n_head={3}, n_embd={4}, n_positions={5}, vocab_size={1}, layer_norm_epsilon={6},
        attn_implementation='eager', bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(config)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {{'lm_head.weight'}}, (missing, unexpected)
    model.tie_weights()
    return Logits(model)
)",
              context, config.vocabulary, config.layers, config.heads, config.width,
              config.positions, config.norm_epsilon)};
}

}  // namespace ffkit
