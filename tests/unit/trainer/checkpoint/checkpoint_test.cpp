#include "checkpoint/checkpoint.h"

#include <ATen/ops/randn_like.h>

#include <ffkit/trainer/classification.h>

#include "files/safetensors.h"
#include "model/model_registry.h"
#include "models/blocks/image_model.h"
#include "optim/optimizer.h"
#include "support/test_models.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

CheckpointInfo sample_info() {
  CheckpointInfo info;
  info.options.data = "/data/set";
  classification(info.options).arch = "resnet18";
  info.facts = {{"classes", R"(["cat","dog","\"quoted\""])"}};
  info.epochs_done = 4;
  info.steps_done = 400;
  info.best = 2.0 / 3;
  info.best_epoch = 3;
  info.global_batch_size = 64;
  info.loader = {.fingerprint = "0123456789abcdef",
                 .seed = 5,
                 .epoch = 4,
                 .position = 17,
                 .order = "shuffle, 90 samples"};
  return info;
}

// JSON has no word for them, and a checkpoint that holds one must be readable.
TEST(Checkpoint, KeepsNumbersThatAreNotFinite) {
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CheckpointInfo info = sample_info();
    info.epoch_loss_sum = wrong;
    info.best = wrong;
    const CheckpointInfo back = info_from_text(info_to_text(info));
    EXPECT_TRUE(back.epoch_loss_sum == wrong || std::isnan(wrong)) << back.epoch_loss_sum;
    EXPECT_EQ(std::isnan(back.epoch_loss_sum), std::isnan(wrong));
    EXPECT_EQ(std::isnan(back.best), std::isnan(wrong));
  }
}

// A model with an optimiser whose every tensor differs from that of another seed.
struct Trained {
  explicit Trained(uint64_t seed, int64_t num_classes = 3,
                   const std::string& arch = testing::kTestResNet) {
    testing::add_test_models();
    at::manual_seed(seed);
    model = ModelRegistry::instance().find(arch).make({.num_classes = num_classes});
    optimizer =
        std::make_unique<Sgd>(parameter_groups(model->parameters(), 1e-4, true), SgdOptions{});
    at::NoGradGuard no_grad;
    for (const NamedTensor& t : model->buffers()) {
      t.tensor.fill_(double(seed));
    }
    for (const NamedTensor& t : optimizer->state()) t.tensor.fill_(double(seed) / 8);
  }
  std::vector<NamedTensor> state() const {
    std::vector<NamedTensor> out = model_state(*model);
    append_with_prefix("optimizer.", optimizer->state(), out);
    return out;
  }
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
};

void expect_equal(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(a[i].tensor.equal(b[i].tensor)) << a[i].name;
  }
}

// `tensors` without the prefix of their names, sorted.
std::vector<NamedTensor> behind_prefix(const std::string& prefix,
                                       std::vector<NamedTensor> tensors) {
  for (NamedTensor& t : tensors) t.name = t.name.substr(prefix.size());
  std::ranges::sort(tensors, {}, &NamedTensor::name);
  return tensors;
}

TEST(Checkpoint, HoldsTheWholeState) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));

  Trained other(2);
  other.model->use_channels_last();
  const CheckpointInfo info = load_checkpoint(temp / "c", other.state());
  expect_equal(other.model->parameters(), saved.model->parameters());
  expect_equal(other.model->buffers(), saved.model->buffers());
  expect_equal(other.optimizer->state(), saved.optimizer->state());
  EXPECT_EQ(classification(info.options).arch, "resnet18");
  EXPECT_EQ(info.options.data, "/data/set");
  EXPECT_EQ(info.facts, sample_info().facts);
  EXPECT_EQ(info.epochs_done, 4);
  EXPECT_EQ(info.steps_done, 400);
  EXPECT_EQ(info.best, 2.0 / 3);
  EXPECT_EQ(info.best_epoch, 3);
  EXPECT_EQ(info.global_batch_size, 64);
  EXPECT_EQ(info.loader, sample_info().loader);
}

// As checkpoints were written when the loader's state did not hold the order.
TEST(Checkpoint, IsRefusedWithoutTheLoadersOrder) {
  std::string text = info_to_text(sample_info());
  const std::string order = R"(,\"order\":\"shuffle, 90 samples\")";
  ASSERT_NE(text.find(order), std::string::npos) << text;
  text.erase(text.find(order), order.size());
  EXPECT_ERROR(info_from_text(text), corrupt);
}

// What is validated and exported: the average of the weights, where the run keeps one.
TEST(Checkpoint, GivesTheAverageOfARunThatKeepsOne) {
  const testing::TempDir temp;
  const Trained last(1), average(2);
  std::vector<NamedTensor> state = last.state();
  append_with_prefix("ema.", behind_prefix("model.", model_state(*average.model)), state);
  CheckpointInfo info = sample_info();
  write_safetensors(temp / "last", snapshot(info, state));
  info.options.ema_decay = 0.5;
  write_safetensors(temp / "average", snapshot(info, state));
  expect_equal(behind_prefix("", model_tensors(temp / "last", SafeTensorsReader(temp / "last"))),
               behind_prefix("model.", model_state(*last.model)));
  expect_equal(
      behind_prefix("", model_tensors(temp / "average", SafeTensorsReader(temp / "average"))),
      behind_prefix("model.", model_state(*average.model)));
}

TEST(Checkpoint, KeepsTheMemoryFormatOfTheModel) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  Trained other(2);
  other.model->use_channels_last();
  load_checkpoint(temp / "c", model_state(*other.model));
  EXPECT_TRUE(other.model->parameters()[0].tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(Checkpoint, NamesTheTensorThatDoesNotFitAndChangesNothing) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  Trained more_classes(2, 5);
  const at::Tensor before = more_classes.model->parameters()[0].tensor.detach().clone();
  EXPECT_ERROR(load_checkpoint(temp / "c", more_classes.state()), invalid_argument);
  EXPECT_TRUE(more_classes.model->parameters()[0].tensor.equal(before));
  Trained deeper(2, 3, testing::kTestResNetDeeper);
  EXPECT_ERROR(load_checkpoint(temp / "c", model_state(*deeper.model)), invalid_argument);
}

TEST(Checkpoint, RefusesOtherDtypes) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  SafeTensors contents = read_safetensors(temp / "c");
  for (NamedTensor& t : contents.tensors) {
    if (t.name == "model.fc.bias") t.tensor = t.tensor.to(at::kDouble);
  }
  write_safetensors(temp / "c", contents);
  Trained other(2);
  EXPECT_ERROR(load_checkpoint(temp / "c", model_state(*other.model)), invalid_argument);
}

TEST(Checkpoint, RefusesAFileWhoseCrcIsGone) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  std::fstream file(temp / "c", std::ios::in | std::ios::out | std::ios::binary);
  std::string head(64, '\0');
  file.read(head.data(), std::streamsize(head.size()));
  const size_t at = head.find("crc32c");
  ASSERT_NE(at, std::string::npos);
  file.seekp(std::streamoff(at));
  file << "crc32x";
  file.close();
  Trained other(2);
  EXPECT_ERROR(load_checkpoint(temp / "c", model_state(*other.model)), corrupt);
}

// A number that another one took the place of is a number as good as any: the checksum alone tells.
TEST(Checkpoint, IsCheckedByItsChecksum) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  check_checkpoint(temp / "c");
  testing::flip_bit(temp / "c", static_cast<int64_t>(fs::file_size(temp / "c")) - 5);
  EXPECT_ERROR_CODE(check_checkpoint(temp / "c"), corrupt);
}

TEST(Checkpoint, SaysWhenAFileIsNoCheckpoint) {
  const testing::TempDir temp;
  EXPECT_ERROR(read_checkpoint_info(temp / "c"), not_found);
  std::ofstream(temp / "c") << "short";
  EXPECT_ERROR(read_checkpoint_info(temp / "c"), corrupt);
  write_safetensors(temp / "c", {});
  EXPECT_ERROR(read_checkpoint_info(temp / "c"), invalid_argument);
  write_safetensors(temp / "c", {.tensors = {}, .metadata = {{"ffkit_checkpoint", "2"}}});
  EXPECT_ERROR(read_checkpoint_info(temp / "c"), unsupported);
}

TEST(Checkpoint, NamesThePartThatIsMissingOrIncomplete) {
  const testing::TempDir temp;
  const Trained saved(1);
  write_safetensors(temp / "c", snapshot(sample_info(), saved.state()));
  const SafeTensors good = read_safetensors(temp / "c");
  for (const char* part : {"options", "classes", "progress", "loader"}) {
    SafeTensors bad{.tensors = {}, .metadata = good.metadata};
    bad.metadata.erase(part);
    write_safetensors(temp / "c", bad);
    EXPECT_ERROR(read_checkpoint_info(temp / "c"), corrupt, .path = temp / "c");
  }
  for (const char* part : {"progress", "loader"}) {
    SafeTensors bad{.tensors = {}, .metadata = good.metadata};
    bad.metadata[part] = "{\"x\":1}";
    write_safetensors(temp / "c", bad);
    EXPECT_ERROR(read_checkpoint_info(temp / "c"), corrupt, .path = temp / "c");
  }
}

}  // namespace
}  // namespace ffkit
