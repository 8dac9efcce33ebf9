#include "checkpoint/weights.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "expect_error.h"
#include "files/pth.h"
#include "files/safetensors.h"
#include "model/model_registry.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// A model of one layer and a head.
class TinyModel : public Model {
 public:
  explicit TinyModel(int64_t num_classes)
      : parameters_{{"body.weight", at::zeros({2, 3})},
                    {"head.weight", at::full({num_classes, 2}, -1.0)},
                    {"head.bias", at::full({num_classes}, -1.0)}},
        buffers_{{"bn.running_mean", at::zeros({2})},
                 {"bn.num_batches_tracked", at::zeros({}, at::kLong)}} {}

  void set_training(bool /*on*/) override {}
  void use_channels_last() override {}
  void to(c10::Device /*device*/) override {}
  void synchronise_batch_norm(Communicator& /*communicator*/) override {}
  std::vector<NamedTensor> parameters() const override { return parameters_; }
  std::vector<NamedTensor> buffers() const override { return buffers_; }

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
};

const WeightRules kRules = {.name = "tiny", .head = "head", .choice = "--arch"};

std::vector<NamedTensor> weights_sample() {
  return {{"body.weight", at::arange(6, at::kFloat).view({2, 3})},
          {"head.weight", at::ones({4, 2})},
          {"head.bias", at::ones({4})},
          {"bn.running_mean", at::ones({2})},
          {"bn.num_batches_tracked", at::scalar_tensor(9, at::kLong)}};
}

Weights weights_of(std::vector<NamedTensor> tensors) {
  return {.path = "file.pth", .tensors = std::move(tensors)};
}

TEST(Weights, AreReadFromEveryKindOfFile) {
  const testing::TempDir temp;
  write_weights(weights_of(weights_sample()), temp / "a.pth");
  write_weights(weights_of(weights_sample()), temp / "a.safetensors");
  std::vector<NamedTensor> prefixed;
  for (const NamedTensor& t : weights_sample()) prefixed.push_back({"module." + t.name, t.tensor});
  write_pth(temp / "parallel.pth", prefixed);
  for (NamedTensor& t : prefixed) t.name = "_orig_mod." + t.name;
  write_safetensors(temp / "compiled", {.tensors = prefixed, .metadata = {}});
  for (const char* name : {"a.pth", "a.safetensors", "parallel.pth", "compiled"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(holds_weights_alone(temp / name));
    const Weights weights = read_weights(temp / name);
    EXPECT_EQ(head_rows(weights, kRules), 4);
    TinyModel model(4);
    EXPECT_TRUE(load_weights(weights, kRules, model, HeadPolicy::must_fit));
    EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
    EXPECT_TRUE(model.parameters()[1].tensor.equal(weights_sample()[1].tensor));
    EXPECT_EQ(model.buffers()[1].tensor.item<int64_t>(), 9);
  }
  EXPECT_FALSE(holds_weights_alone(temp.path()));
  EXPECT_ERROR(holds_weights_alone(temp / "none"), not_found, "none");
}

// As RootNet's code names its checkpoints and keeps them: the tensors under "network", with "module." before their names.
TEST(Weights, AreWrittenAsSnapshots) {
  const testing::TempDir temp;
  write_weights(weights_of(weights_sample()), temp / "snapshot_19.pth.tar");
  const std::vector<NamedTensor> stored = read_pth(temp / "snapshot_19.pth.tar");
  ASSERT_EQ(stored.size(), weights_sample().size());
  EXPECT_EQ(stored[0].name, "module." + weights_sample()[0].name);
  const Weights weights = read_weights(temp / "snapshot_19.pth.tar");
  TinyModel model(4);
  EXPECT_TRUE(load_weights(weights, kRules, model, HeadPolicy::must_fit));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
  for (const char* name :
       {"snapshot_.pth.tar", "snapshot_x.pth.tar", "snapshot_-1.pth.tar", "a.tar"}) {
    EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / name), invalid_argument,
                 "written as .safetensors or .pth");
  }
}

TEST(Weights, LeaveAHeadOfOtherClassesAlone) {
  TinyModel model(7);
  EXPECT_FALSE(load_weights(weights_of(weights_sample()), kRules, model, HeadPolicy::may_differ));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
  EXPECT_TRUE(model.parameters()[1].tensor.equal(at::full({7, 2}, -1.0)));
  EXPECT_TRUE(model.parameters()[2].tensor.equal(at::full({7}, -1.0)));
  TinyModel fitting(4);
  EXPECT_TRUE(load_weights(weights_of(weights_sample()), kRules, fitting, HeadPolicy::may_differ));
  EXPECT_TRUE(fitting.parameters()[1].tensor.equal(at::ones({4, 2})));
}

TEST(Weights, NameTheTensorThatDoesNotFit) {
  TinyModel model(4);
  const auto expect = [&](const std::function<void(std::vector<NamedTensor>&)>& change,
                          const std::string& text) {
    std::vector<NamedTensor> tensors = weights_sample();
    change(tensors);
    for (const HeadPolicy policy : {HeadPolicy::must_fit, HeadPolicy::may_differ}) {
      EXPECT_ERROR(load_weights(weights_of(tensors), kRules, model, policy), invalid_argument,
                   "file.pth: " + text);
    }
    EXPECT_TRUE(model.parameters()[0].tensor.equal(at::zeros({2, 3}))) << "was changed";
  };
  expect([](auto& t) { t.erase(t.begin() + 2); },
         "has no tensor 'head.bias', which a tiny needs; is it of another --arch?");
  expect(
      [](auto& t) {
        t.push_back({"extra", at::ones({1})});
      },
      "holds the tensor 'extra', which a tiny does not have");
  expect([](auto& t) { t.push_back(t[0]); }, "holds the tensor 'body.weight' twice");
  expect(
      [](auto& t) {
        t[0].tensor = at::ones({3, 2});
      },
      "tensor 'body.weight' is Float [3, 2], but the model needs Float [2, 3]");
  expect([](auto& t) { t[1].tensor = at::ones({5, 3}); }, "tensor 'head.weight' is Float [5, 3]");
  expect([](auto& t) { t[0].tensor = t[0].tensor.to(at::kLong); },
         "tensor 'body.weight' is Long [2, 3]");
  TinyModel other(5);
  EXPECT_ERROR(load_weights(weights_of(weights_sample()), kRules, other, HeadPolicy::must_fit),
               invalid_argument, "tensor 'head.weight' is Float [4, 2]");
  EXPECT_ERROR(head_rows(weights_of({weights_sample()[0]}), kRules), invalid_argument,
               "has no tensor 'head.weight'");
}

TEST(Weights, AreConvertedAndMayLackCounts) {
  std::vector<NamedTensor> tensors = weights_sample();
  tensors[0].tensor = tensors[0].tensor.to(at::kHalf);
  tensors.pop_back();
  TinyModel model(4);
  EXPECT_TRUE(load_weights(weights_of(tensors), kRules, model, HeadPolicy::must_fit));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
  EXPECT_EQ(model.buffers()[1].tensor.item<int64_t>(), 0);
}

TEST(Weights, AreNotWrittenOverAFile) {
  const testing::TempDir temp;
  std::ofstream(temp / "a.pth") << "mine";
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "a.pth"), invalid_argument,
               "a.pth: exists; delete it or give another name");
  EXPECT_EQ(fs::file_size(temp / "a.pth"), 4U);
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "a.onnx"), invalid_argument,
               "written as .safetensors or .pth");
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "none/a.pth"), io, "none/a.pth");
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), fs::directory_iterator()), 1);
}

TEST(Weights, OfAnOldVisionTransformerAreRenamed) {
  const ModelEntry& vit = ModelRegistry::instance().find("vit_b_16");
  ASSERT_TRUE(vit.current_name);
  EXPECT_EQ(vit.current_name("encoder.layers.encoder_layer_7.mlp.linear_1.weight"),
            "encoder.layers.encoder_layer_7.mlp.0.weight");
  EXPECT_EQ(vit.current_name("encoder.layers.encoder_layer_7.mlp.linear_2.bias"),
            "encoder.layers.encoder_layer_7.mlp.3.bias");
  EXPECT_EQ(vit.current_name("heads.head.bias"), "heads.head.bias");
}

}  // namespace
}  // namespace ffkit
