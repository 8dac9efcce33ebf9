#include "files/safetensors.h"
#include "tasks/gpt2/data/gpt2_data.h"
#include "tasks/gpt2/network/gpt2_config.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

void write_json(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

TEST(Gpt2Files, ConfigGoesBothWays) {
  const testing::TempDir temp;
  const auto file = temp / "config.json";
  Gpt2Config config = gpt2_config("gpt2-xl");
  config.dropout = 0.25;
  write_json(file, gpt2_config_text(config, 50256));
  const Gpt2Config read = read_gpt2_config(file);
  EXPECT_EQ(read.layers, 48);
  EXPECT_EQ(read.heads, 25);
  EXPECT_EQ(read.width, 1600);
  EXPECT_EQ(read.positions, 1024);
  EXPECT_EQ(read.vocabulary, 50257);
  EXPECT_EQ(read.dropout, 0.25);
  // As published: 1,557,611,200, 124,439,808.
  EXPECT_EQ(read.num_parameters(), 1557611200);
  EXPECT_EQ(gpt2_config("gpt2").num_parameters(), 124439808);
  EXPECT_ERROR(gpt2_config("gpt3"), invalid_argument);
}

TEST(Gpt2Files, ConfigOfAnotherNetworkIsRefused) {
  const testing::TempDir temp;
  const auto file = temp / "config.json";
  EXPECT_ERROR(read_gpt2_config(file), not_found);
  write_json(file, R"({"model_type": "llama"})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported);
  write_json(file, R"({"activation_function": "relu"})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported);
  write_json(file, R"({"n_embd": 768, "n_inner": 1000})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported);
  write_json(file, R"({"n_head": 7})");
  EXPECT_ERROR(read_gpt2_config(file), corrupt);
  write_json(file, R"({"n_layer": "many"})");
  EXPECT_ERROR(read_gpt2_config(file), corrupt);
  write_json(file, R"({"layer_norm_epsilon": "1e-3"})");
  EXPECT_ERROR(read_gpt2_config(file), corrupt);
  // All at once.
  write_json(file, R"({"scale_attn_by_inverse_layer_idx": true, "reorder_and_upcast_attn": true,
                       "pruned_heads": {"0": [1]}, "quantization_config": {"bits": 4}})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported);
  write_json(file, "[");
  EXPECT_ERROR(read_gpt2_config(file), corrupt);
}

// As transformers' attribute_map: a file of its own has either name.
TEST(Gpt2Files, ConfigHasOtherNamesOfItsSizes) {
  const testing::TempDir temp;
  const auto file = temp / "config.json";
  write_json(file, R"({"num_hidden_layers": 2, "n_head": 2, "num_attention_heads": 4,
    "hidden_size": 32, "max_position_embeddings": 64, "n_ctx": 16, "layer_norm_epsilon": 0.001,
    "pruned_heads": {}, "activation_function": "gelu_fast", "n_inner": 128, "resid_pdrop": null})");
  const Gpt2Config read = read_gpt2_config(file);
  EXPECT_EQ(read.layers, 2);
  EXPECT_EQ(read.heads, 4);
  EXPECT_EQ(read.width, 32);
  EXPECT_EQ(read.positions, 64);
  EXPECT_EQ(read.norm_epsilon, 0.001);
  EXPECT_EQ(read.dropout, 0.1);
  EXPECT_EQ(read.dropouts, "");
  write_json(file, R"({"attn_pdrop": 0})");
  EXPECT_EQ(read_gpt2_config(file).dropouts, "attn_pdrop 0, embd_pdrop 0.1, resid_pdrop 0.1");
}

TEST(Gpt2Files, NewTokensAreTheMeanOfTheOthers) {
  std::vector<NamedTensor> tensors = {{"transformer.wpe.weight", at::ones({4, 2})},
                                      {"transformer.wte.weight", at::ones({3, 2})}};
  tensors[1].tensor[2].fill_(4);
  resize_gpt2_vocabulary(tensors, 5);
  ASSERT_EQ(tensors[1].tensor.sizes(), at::IntArrayRef({5, 2}));
  EXPECT_EQ(tensors[1].tensor[2][1].item<float>(), 4);
  EXPECT_EQ(tensors[1].tensor[3][0].item<float>(), 2);
  EXPECT_EQ(tensors[1].tensor[4][1].item<float>(), 2);
  resize_gpt2_vocabulary(tensors, 2);
  EXPECT_EQ(tensors[1].tensor.sizes(), at::IntArrayRef({2, 2}));
  EXPECT_EQ(tensors[0].tensor.size(0), 4);
}

TEST(Gpt2Files, TensorsGetTheirNames) {
  const at::Tensor a = at::ones({4, 2}), b = at::zeros({2});
  std::vector<NamedTensor> old = {{"wte.weight", a},
                                  {"h.0.attn.bias", at::ones({1, 1, 4, 4})},
                                  {"h.0.attn.masked_bias", b},
                                  {"h.0.attn.c_attn.bias", b},
                                  {"lm_head.weight", a.clone()}};
  name_gpt2_tensors("file", old);
  ASSERT_EQ(old.size(), 2u);
  EXPECT_EQ(old[0].name, "transformer.wte.weight");
  EXPECT_EQ(old[1].name, "transformer.h.0.attn.c_attn.bias");
  std::vector<NamedTensor> other = {{"transformer.wte.weight", a}, {"lm_head.weight", a + 1}};
  EXPECT_ERROR(name_gpt2_tensors("file", other), unsupported);
}

TEST(Gpt2Files, ConfigBesideWeightsIsCompared) {
  const testing::TempDir temp;
  const Gpt2Config config = {.layers = 2, .heads = 4, .width = 16, .vocabulary = 37};
  const auto weights = temp / "model.safetensors";
  write_safetensors(weights, {.tensors = {{"wte.weight", at::ones({37, 16})}}, .metadata = {}});
  check_gpt2_config(weights, config);  // there is no config.json
  write_json(temp / "config.json", gpt2_config_text(config, {}));
  check_gpt2_config(weights, config);
  Gpt2Config other = config;
  other.heads = 2;
  EXPECT_ERROR(check_gpt2_config(temp.path(), other), invalid_argument);
  other = config;
  other.vocabulary = 40;
  check_gpt2_config(weights, other, /*any_vocabulary=*/true);
  EXPECT_ERROR(check_gpt2_config(weights, other), invalid_argument);
}

}  // namespace
}  // namespace ffkit
