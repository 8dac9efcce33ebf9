#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "model/model_registry.h"

namespace ffkit {
namespace {

std::string renamed(const std::string& library, const std::string& model, const std::string& name) {
  std::vector<NamedTensor> tensors = {{name, at::arange(6)}};
  use_names_of(library, model, tensors);
  return tensors.at(0).name;
}

// The whole of them is loaded by timm and transformers in tests/cli/compare_onnx.py.
TEST(LibraryNames, AreThoseOfTheLibrary) {
  EXPECT_EQ(renamed("torchvision", "mobilenet_v3_small", "a.b"), "a.b");
  EXPECT_EQ(renamed("timm", "wide_resnet50_2", "layer1.0.conv1.weight"), "layer1.0.conv1.weight");
  EXPECT_EQ(renamed("timm", "vit_b_16", "encoder.layers.encoder_layer_11.mlp.3.bias"),
            "blocks.11.mlp.fc2.bias");
  EXPECT_EQ(renamed("timm", "convnext_tiny", "features.5.8.block.3.weight"),
            "stages.2.blocks.8.mlp.fc1.weight");
  EXPECT_EQ(renamed("timm", "convnext_tiny", "features.6.1.bias"), "stages.3.downsample.1.bias");
  EXPECT_EQ(renamed("timm", "mobilenet_v2", "features.1.conv.1.weight"),
            "blocks.0.0.conv_pw.weight");
  EXPECT_EQ(renamed("timm", "mobilenet_v2", "features.17.conv.3.running_var"),
            "blocks.6.0.bn3.running_var");
  EXPECT_EQ(renamed("timm", "efficientnet_b0", "features.2.1.block.3.0.weight"),
            "blocks.1.1.conv_pwl.weight");
  EXPECT_EQ(renamed("timm", "efficientnet_b0", "features.1.0.block.1.fc2.bias"),
            "blocks.0.0.se.conv_expand.bias");
  EXPECT_EQ(renamed("transformers", "resnet18", "layer2.0.downsample.1.bias"),
            "resnet.encoder.stages.1.layers.0.shortcut.normalization.bias");
  EXPECT_EQ(renamed("transformers", "convnext_tiny", "features.1.0.layer_scale"),
            "convnext.encoder.stages.0.layers.0.layer_scale_parameter");
}

TEST(LibraryNames, DivideWhatTheLibraryHasInParts) {
  std::vector<NamedTensor> tensors = {
      {"encoder.layers.encoder_layer_2.self_attention.in_proj_bias", at::arange(6)}};
  use_names_of("transformers", "vit_b_16", tensors);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[1].name, "vit.encoder.layer.2.attention.attention.key.bias");
  EXPECT_EQ(tensors[2].tensor[0].item<int64_t>(), 4);
}

TEST(LibraryNames, AreRefusedWhereNetworksDiffer) {
  EXPECT_ERROR(renamed("timm", "mobilenet_v3_small", "a"), unsupported);
  EXPECT_ERROR(renamed("transformers", "resnext50_32x4d", "a"), unsupported);
  EXPECT_ERROR(renamed("keras", "resnet18", "a"), invalid_argument);
}

TEST(LibraryNames, ComeWithASetting) {
  const auto json = nlohmann::json::parse(transformers_config("resnet152", 224, {"a", "b"}));
  EXPECT_EQ(json.at("depths"), nlohmann::json({3, 8, 36, 3}));
  EXPECT_EQ(json.at("id2label").at("1"), "b");
  EXPECT_EQ(json.at("architectures").at(0), "ResNetForImageClassification");
}

}  // namespace
}  // namespace ffkit
