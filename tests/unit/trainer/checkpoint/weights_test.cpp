#include "checkpoint/weights.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include "files/pth.h"
#include "files/safetensors.h"
#include "model/model_registry.h"
#include "support/fake_model.h"
#include "support/pth_builder.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// A model of one layer and a head.
class TinyModel : public testing::FakeModel {
 public:
  explicit TinyModel(int64_t num_classes)
      : FakeModel({{"body.weight", at::zeros({2, 3})},
                   {"head.weight", at::full({num_classes, 2}, -1.0)},
                   {"head.bias", at::full({num_classes}, -1.0)}},
                  {{"bn.running_mean", at::zeros({2})},
                   {"bn.num_batches_tracked", at::zeros({}, at::kLong)}}) {}
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
  EXPECT_ERROR(holds_weights_alone(temp / "none"), not_found);
}

// As RootNet's code names its checkpoints and keeps them: the tensors under "network", with
// "module." before their names.
TEST(Weights, AreWrittenAsSnapshots) {
  const testing::TempDir temp;
  write_weights(weights_of(weights_sample()), temp / "snapshot_19.pth.tar");
  const std::vector<NamedTensor> stored =
      read_pth(File::open_for_reading(temp / "snapshot_19.pth.tar")).tensors;
  ASSERT_EQ(stored.size(), weights_sample().size());
  EXPECT_EQ(stored[0].name, "module." + weights_sample()[0].name);
  const Weights weights = read_weights(temp / "snapshot_19.pth.tar");
  TinyModel model(4);
  EXPECT_TRUE(load_weights(weights, kRules, model, HeadPolicy::must_fit));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
  write_weights(weights_of(weights_sample()), temp / "snapshot_0.pth.tar");  // the first epoch's
  EXPECT_EQ(read_pth(File::open_for_reading(temp / "snapshot_0.pth.tar")).tensors.size(),
            weights_sample().size());
  for (const char* name :
       {"snapshot_.pth.tar", "snapshot_x.pth.tar", "snapshot_-1.pth.tar", "a.tar"}) {
    EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / name), invalid_argument);
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

// A detector takes all of a classifier but what tells its classes.
TEST(Weights, OfABackboneLoseTheirHead) {
  const at::Tensor weight = at::zeros({2});
  testing::FakeModel model({{"conv.weight", weight}}, {});
  std::vector<std::string> notes;
  EXPECT_TRUE(load_weights(weights_of({{"conv.weight", at::ones({2})},
                                       {"fc.weight", at::ones({3, 2})},
                                       {"fc.bias", at::ones({3})}}),
                           backbone_rules("net"), model, HeadPolicy::must_fit, &notes));
  EXPECT_TRUE(weight.equal(at::ones({2})));
  EXPECT_TRUE(notes.empty());
}

// Weights of `names`, one number each.
Weights named_ones(const std::vector<std::string>& names) {
  Weights weights = weights_of({});
  for (const std::string& name : names) weights.tensors.push_back({name, at::ones({1})});
  return weights;
}

std::vector<NamedTensor> behind(const std::string& prefix, std::vector<NamedTensor> tensors) {
  for (NamedTensor& t : tensors) t.name.insert(0, prefix);
  return tensors;
}

TEST(Weights, LoseWhatOnlyWrapsTheirModules) {
  const testing::TempDir temp;
  for (const char* name :
       {"module._orig_mod.a", "_orig_mod.module.a", "module.module.a", "_fsdp_wrapped_module.a",
        "_orig_mod._checkpoint_wrapped_module._orig_mod.a", "a"}) {
    write_weights(named_ones({name}), temp / "f.pth");
    EXPECT_EQ(read_weights(temp / "f.pth").tensors.at(0).name, "a") << name;
    fs::remove(temp / "f.pth");
  }
  write_weights(named_ones({"x._orig_mod.a", "b_orig_mod.c", "module.d"}), temp / "f.pth");
  const Weights weights = read_weights(temp / "f.pth");
  EXPECT_EQ(weights.tensors[0].name, "x.a");
  EXPECT_EQ(weights.tensors[1].name, "b_orig_mod.c");
  EXPECT_EQ(weights.tensors[2].name, "module.d");  // not all begin with it
}

TEST(Weights, AreFoundBehindOtherWords) {
  for (const char* prefix : {"model.", "net.backbone.", "student.encoder.model."}) {
    TinyModel model(4);
    std::vector<std::string> notes;
    std::vector<NamedTensor> tensors = behind(prefix, weights_sample());
    EXPECT_TRUE(load_weights(weights_of(tensors), kRules, model, HeadPolicy::must_fit, &notes));
    EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
    EXPECT_TRUE(notes.empty());
    EXPECT_EQ(head_rows(weights_of(tensors), kRules), 4);
    tensors.push_back({"criterion.weight", at::ones({2})});
    EXPECT_TRUE(load_weights(weights_of(tensors), kRules, model, HeadPolicy::must_fit, &notes));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0], std::string("1 tensor left out, because the names do not begin with '") +
                            prefix + "': 'criterion.weight'");
  }
  // The whole one rather than the usual one that lacks a tensor.
  {
    std::vector<NamedTensor> whole_behind = weights_sample();
    whole_behind.erase(whole_behind.begin() + 3);  // bn.running_mean
    for (const NamedTensor& t : behind("net.backbone.", weights_sample())) {
      whole_behind.push_back(t);
    }
    TinyModel model(4);
    EXPECT_TRUE(load_weights(weights_of(whole_behind), kRules, model, HeadPolicy::must_fit));
    EXPECT_TRUE(model.parameters()[1].tensor.equal(weights_sample()[1].tensor));
  }
  // Of two, the usual one, and that is said.
  std::vector<NamedTensor> tensors = behind("model.", weights_sample());
  for (NamedTensor& t : behind("ema_model.", weights_sample())) {
    t.tensor = at::zeros_like(t.tensor);
    tensors.insert(tensors.begin(), t);
  }
  TinyModel model(4);
  std::vector<std::string> notes;
  EXPECT_TRUE(load_weights(weights_of(tensors), kRules, model, HeadPolicy::must_fit, &notes));
  EXPECT_TRUE(model.parameters()[1].tensor.equal(weights_sample()[1].tensor));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0],
            "the tensors 'model.*' are used; the file also has 'ema_model.' (--weights-key)");
  // Chosen.
  const testing::TempDir temp;
  write_weights(weights_of(tensors), temp / "f.safetensors");
  const Weights chosen = read_weights(temp / "f.safetensors", "ema_model");
  EXPECT_EQ(chosen.tensors.size(), weights_sample().size());
  EXPECT_TRUE(load_weights(chosen, kRules, model, HeadPolicy::must_fit));
  EXPECT_EQ(model.parameters()[1].tensor.sum().item<float>(), 0);
  EXPECT_ERROR(read_weights(temp / "f.safetensors", "other"), invalid_argument);
}

TEST(Weights, MayComeWithoutAHead) {
  std::vector<NamedTensor> tensors = weights_sample();
  tensors.erase(tensors.begin() + 1, tensors.begin() + 3);
  TinyModel model(7);
  std::vector<std::string> notes;
  EXPECT_FALSE(load_weights(weights_of(tensors), kRules, model, HeadPolicy::may_differ, &notes));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(weights_sample()[0].tensor));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "it has no head; the head of 7 rows gets new random weights");
  EXPECT_ERROR(load_weights(weights_of(tensors), kRules, model, HeadPolicy::must_fit),
               invalid_argument);
}

TEST(Weights, SayWhatATensorWithoutNumbersIs) {
  Weights weights = weights_of(weights_sample());
  weights.unread.push_back({"other", "has the dtype 'F4'"});
  TinyModel model(4);
  std::vector<std::string> notes;
  EXPECT_TRUE(load_weights(weights, kRules, model, HeadPolicy::must_fit, &notes));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(
      notes[0],
      "1 tensor left out, because ffkit does not support the type: 'other' has the dtype 'F4'");
  weights.tensors.erase(weights.tensors.begin());
  weights.unread[0].name = "body.weight";
  EXPECT_ERROR(load_weights(weights, kRules, model, HeadPolicy::must_fit), invalid_argument);
}

TEST(Weights, KeepTheNamesOfWhatIsNotReadInAFile) {
  const testing::TempDir temp;
  testing::write_zip(
      temp / "f.pth",
      testing::pth_entries(testing::pickle_dict(
          {{"a", testing::PickledTensor().bytes()},
           {"b",
            testing::PickledTensor{.function = "torch._utils\n_rebuild_sparse_tensor"}.bytes()}})));
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"X9","shape":[4],"data_offsets":[4,8]}})";
  std::string safetensors(8, '\0');
  safetensors[0] = static_cast<char>(header.size());
  testing::write_file(temp / "f.safetensors", safetensors + header + std::string(8, '\0'));
  for (const char* file : {"f.pth", "f.safetensors"}) {
    const Weights weights = read_weights(temp / file);
    ASSERT_EQ(weights.tensors.size(), 1U) << file;
    EXPECT_EQ(weights.tensors[0].name, "a") << file;
    ASSERT_EQ(weights.unread.size(), 1U) << file;
    EXPECT_EQ(weights.unread[0].name, "b") << file;
  }
}

TEST(Weights, AreReadFromShards) {
  const testing::TempDir temp;
  const std::vector<NamedTensor> all = weights_sample();
  const auto write = [&](const std::string& ending) {
    write_weights(weights_of({all[0], all[1]}), temp / ("model-00001-of-00002" + ending));
    write_weights(weights_of({all[2], all[3], all[4]}), temp / ("model-00002-of-00002" + ending));
    std::ofstream(temp / ("model" + ending + ".index.json"))
        << R"({"metadata":{},"weight_map":{"body.weight":"model-00001-of-00002)" << ending
        << R"(","head.bias":"model-00002-of-00002)" << ending << R"("}})";
  };
  for (const char* ending : {".safetensors", ".pth"}) {
    write(ending);
    const fs::path index = temp / (std::string("model") + ending + ".index.json");
    EXPECT_TRUE(holds_weights_alone(index));
    TinyModel model(4);
    EXPECT_TRUE(load_weights(read_weights(index), kRules, model, HeadPolicy::must_fit));
    EXPECT_TRUE(model.parameters()[0].tensor.equal(all[0].tensor));
    EXPECT_ERROR(read_weights(temp / (std::string("model-00002-of-00002") + ending)),
                 invalid_argument, .path = temp / (std::string("model-00002-of-00002") + ending));
  }
  const auto expect = [&](const char* json, ErrorCode code) {
    std::ofstream(temp / "b.index.json") << json;
    EXPECT_TRUE(testing::throws_error([&] { read_weights(temp / "b.index.json"); }, code)) << json;
  };
  using enum ErrorCode;
  expect("[]", corrupt);
  expect(R"({"weight_map":{"a":1}})", corrupt);
  expect(R"({"weight_map":{"a":"../x"}})", corrupt);
  expect(R"({"weight_map":{"a":"/etc/passwd"}})", corrupt);
  expect(R"({"weight_map":{"a":"x.safetensors"}})", not_found);
  expect(R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})", invalid_argument);
}

TEST(Weights, AreCalledByTheirNamesWhereTheyAreNotRead) {
  const testing::TempDir temp;
  const auto expect = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(temp / name) << bytes;
    EXPECT_ERROR(read_weights(temp / name), unsupported, .path = temp / name);
    EXPECT_ERROR(holds_weights_alone(temp / name), unsupported, .path = temp / name);
  };
  const std::string zeros(600, '\0');
  expect("a", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
  expect("b", "\x89HDF\r\n\x1a\n" + zeros);
  expect("c", std::string("\x08\x0a\x12\x07pytorch", 11) + zeros);
  expect("d", "GGUF" + zeros);
  expect("e", "<!DOCTYPE html><html>");
  expect("f", "\x1f\x8b\x08" + zeros);
  expect("g.msgpack", "\x82\xa6params" + zeros);
  expect("h", zeros);
  expect("i", "hello world, this is text");
  expect("j", "\x80\x04\x95" + zeros);
}

TEST(Weights, NameTheTensorThatDoesNotFit) {
  TinyModel model(4);
  const auto expect = [&](const std::function<void(std::vector<NamedTensor>&)>& change) {
    std::vector<NamedTensor> tensors = weights_sample();
    change(tensors);
    for (const HeadPolicy policy : {HeadPolicy::must_fit, HeadPolicy::may_differ}) {
      EXPECT_ERROR(load_weights(weights_of(tensors), kRules, model, policy), invalid_argument);
    }
    EXPECT_TRUE(model.parameters()[0].tensor.equal(at::zeros({2, 3}))) << "was changed";
  };
  expect([](auto& t) { t.erase(t.begin() + 2); });
  expect([](auto& t) { t.push_back({"extra", at::ones({1})}); });
  expect([](auto& t) { t.push_back(t[0]); });
  expect([](auto& t) { t[0].tensor = at::ones({3, 2}); });
  expect([](auto& t) { t[1].tensor = at::ones({5, 3}); });
  expect([](auto& t) { t[0].tensor = t[0].tensor.to(at::kLong); });
  TinyModel other(5);
  EXPECT_ERROR(load_weights(weights_of(weights_sample()), kRules, other, HeadPolicy::must_fit),
               invalid_argument);
  EXPECT_ERROR(head_rows(weights_of({weights_sample()[0]}), kRules), invalid_argument);
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
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "a.pth"), invalid_argument);
  EXPECT_EQ(fs::file_size(temp / "a.pth"), 4U);
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "a.onnx"), unsupported);
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "a.tf"), invalid_argument);
  EXPECT_ERROR(write_weights(weights_of(weights_sample()), temp / "none/a.pth"), io);
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
