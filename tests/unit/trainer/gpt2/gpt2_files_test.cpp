#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <fstream>

#include "expect_error.h"
#include "tasks/gpt2/network/gpt2_config.h"
#include "tasks/gpt2/network/gpt2_weights.h"
#include "temp_dir.h"

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
  write_gpt2_config(file, config, 50256);
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
  EXPECT_ERROR(gpt2_config("gpt3"), invalid_argument, "there is no arch 'gpt3'");
}

TEST(Gpt2Files, ConfigOfAnotherNetworkIsRefused) {
  const testing::TempDir temp;
  const auto file = temp / "config.json";
  EXPECT_ERROR(read_gpt2_config(file), not_found, "config.json: cannot be read");
  write_json(file, R"({"model_type": "llama"})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported,
               "has model_type \"llama\", which is not GPT-2's");
  write_json(file, R"({"activation_function": "relu"})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported, "has activation_function \"relu\"");
  write_json(file, R"({"n_embd": 768, "n_inner": 1000})");
  EXPECT_ERROR(read_gpt2_config(file), unsupported, "has n_inner 1000");
  write_json(file, R"({"n_head": 7})");
  EXPECT_ERROR(read_gpt2_config(file), corrupt, "a width of 768 cannot be divided among 7 heads");
  write_json(file, R"({"n_layer": "many"})");
  EXPECT_ERROR(read_gpt2_config(file), corrupt, "is not the config.json of a GPT-2");
  write_json(file, "[");
  EXPECT_ERROR(read_gpt2_config(file), corrupt, "is not the config.json of a GPT-2");
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
  EXPECT_ERROR(name_gpt2_tensors("file", other), unsupported,
               "file: its lm_head.weight is not its wte.weight");
}

TEST(Gpt2Files, ConfigBesideWeightsIsCompared) {
  const testing::TempDir temp;
  const Gpt2Config config = {.layers = 2, .heads = 4, .width = 16, .vocabulary = 37};
  check_gpt2_config(temp / "model.safetensors", config);  // there is none
  write_gpt2_config(temp / "config.json", config, {});
  check_gpt2_config(temp / "model.safetensors", config);
  Gpt2Config other = config;
  other.heads = 2;
  EXPECT_ERROR(check_gpt2_config(temp / "", other), invalid_argument,
               "config.json: is of a GPT-2 with 4 heads, but the network here has 2");
}

}  // namespace
}  // namespace ffkit
