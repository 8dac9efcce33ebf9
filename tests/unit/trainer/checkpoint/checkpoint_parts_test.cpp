#include "checkpoint/checkpoint_parts.h"

#include <ATen/Functions.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

at::Tensor numbers() {
  return at::arange(5 * 12, at::kLong).reshape({5, 12});
}

// The columns of `boxes`, behind each other, of rows 1 to 4.
TensorShare columns(const std::vector<std::pair<int64_t, int64_t>>& boxes) {
  TensorShare share{.whole_shape = {5, 12}, .dimension = 1, .boxes = {}};
  for (const auto& [begin, size] : boxes) {
    share.boxes.push_back({.begin = {1, begin}, .size = {3, size}});
  }
  return share;
}

at::Tensor part_of(const at::Tensor& whole, const std::vector<std::pair<int64_t, int64_t>>& boxes) {
  std::vector<at::Tensor> parts;
  for (const auto& [begin, size] : boxes) {
    parts.push_back(whole.narrow(0, 1, 3).narrow(1, begin, size));
  }
  return at::cat(parts, 1);
}

using Boxes = std::vector<std::pair<int64_t, int64_t>>;

TEST(TensorShare, OfSeveralBoxesIsCopiedFromTheWholeAndBack) {
  const Boxes boxes = {{0, 2}, {5, 1}, {8, 3}};
  const TensorShare share = columns(boxes);
  EXPECT_EQ(share.shape(), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(share.num_elements(), 18);
  const at::Tensor own = at::zeros({3, 6}, at::kLong);
  const TensorShare all = TensorShare::of_all({5, 12});
  EXPECT_EQ(copy_share(numbers(), all, own, share), 18);
  EXPECT_TRUE(own.equal(part_of(numbers(), boxes)));
  const at::Tensor whole = at::zeros({5, 12}, at::kLong);
  EXPECT_EQ(copy_share(own, share, whole, all), 18);
  EXPECT_TRUE(part_of(whole, boxes).equal(part_of(numbers(), boxes)));
  EXPECT_EQ(whole.sum().item<int64_t>(), own.sum().item<int64_t>());
}

TEST(TensorShare, OfSeveralBoxesMeetsAnotherOfSeveral) {
  const Boxes from = {{0, 3}, {4, 2}, {7, 5}};
  const Boxes to = {{1, 1}, {5, 3}, {10, 2}};
  const at::Tensor own = at::full({3, 6}, -1, at::kLong);
  // Columns 1, 5, 7, 10 and 11 of 1, 5, 6, 7, 10 and 11.
  EXPECT_EQ(copy_share(part_of(numbers(), from), columns(from), own, columns(to)), 15);
  const at::Tensor wanted = part_of(numbers(), to).clone();
  wanted.select(1, 2).fill_(-1);
  EXPECT_TRUE(own.equal(wanted)) << own;
  EXPECT_TRUE(overlap(columns(from), columns(to)));
  EXPECT_FALSE(overlap(columns({{0, 3}, {6, 1}}), columns({{3, 3}, {7, 5}})));
}

// A tensor [6, 8], of which a process has columns of both halves, as of query, key and value.
at::Tensor shared_numbers() {
  return at::arange(48, at::kFloat).view({6, 8});
}

// Of rank `rank` of `size`: its columns of each half, and of these the rows begin .. end - 1.
SharedTensor columns_of(int rank, int size, int64_t begin = 0, int64_t end = 6) {
  const int64_t count = 4 / size;
  SharedTensor out{.name = "model.w",
                   .share = {.whole_shape = {6, 8}, .dimension = 1, .boxes = {}}};
  for (const int64_t half : {0, 4})
    out.share.boxes.push_back(
        {.begin = {begin, half + rank * count}, .size = {end - begin, count}});
  out.tensor = at::full(out.share.shape(), -1.0, at::kFloat);
  return out;
}

CheckpointInfo parts_info() {
  CheckpointInfo info;
  info.options.data = "/data/set";
  info.facts = {{"classes", "[]"}};
  info.epochs_done = 4;
  return info;
}

// By two processes, of which the second one has the rows of a bias as well.
void write_sample(const fs::path& path) {
  testing::run_world(2, [&](Communicator& world) {
    std::vector<SharedTensor> own = {columns_of(world.rank(), 2)};
    copy_share(shared_numbers(), TensorShare::of_all({6, 8}), own[0].tensor, own[0].share);
    if (world.rank() == 1)
      own.push_back({"ema.b", at::full({3}, 7, at::kLong), TensorShare::of_all({3})});
    SafeTensors rest;
    if (world.rank() == 0) rest = snapshot(parts_info(), {{"optimizer.step", at::full({}, 5.0)}});
    write_parts(world, path, rest, own);
  });
}

TEST(CheckpointParts, AreReadByAnyNumberOfProcesses) {
  const testing::TempDir temp;
  const fs::path path = temp / "epoch-0004.parts";
  write_sample(path);
  EXPECT_EQ(read_checkpoint_info(path).epochs_done, 4);
  check_checkpoint(path);
  for (const int size : {1, 2, 4}) {
    for (int rank = 0; rank < size; ++rank) {
      std::vector<SharedTensor> wanted = {columns_of(rank, size, 1, 5)};
      wanted.push_back({"optimizer.step", at::zeros({}), TensorShare::of_all({})});
      load_shares(path, wanted);
      const at::Tensor rows = shared_numbers().narrow(0, 1, 4);
      const int64_t count = 4 / size;
      EXPECT_TRUE(wanted[0].tensor.narrow(1, 0, count).equal(rows.narrow(1, rank * count, count)));
      EXPECT_TRUE(
          wanted[0].tensor.narrow(1, count, count).equal(rows.narrow(1, 4 + rank * count, count)));
      EXPECT_EQ(wanted[1].tensor.item<double>(), 5);
    }
  }
  const Weights weights = read_weights(path);
  ASSERT_EQ(weights.tensors.size(), 1u);
  EXPECT_EQ(weights.tensors[0].name, "w");
  EXPECT_TRUE(weights.tensors[0].tensor.equal(shared_numbers()));
  const at::Tensor whole = at::zeros({6, 8});
  EXPECT_EQ(load_checkpoint(path, {{"model.w", whole}}).options.data, "/data/set");
  EXPECT_TRUE(whole.equal(shared_numbers()));
}

// A process that needs nothing of a part does not open it.
TEST(CheckpointParts, AreReadWhereTheyAreNeeded) {
  const testing::TempDir temp;
  const fs::path path = temp / "c.parts";
  write_sample(path);
  fs::remove(path / "part-00001.safetensors");
  load_shares(path, {columns_of(0, 2)});
  load_shares(path, {columns_of(1, 4)});
  EXPECT_ERROR(load_shares(path, {columns_of(1, 2)}), corrupt);
  EXPECT_ERROR(check_checkpoint(path), corrupt);
}

TEST(CheckpointParts, RefusesDamageAndWhatDoesNotFit) {
  const testing::TempDir temp;
  const fs::path path = temp / "c.parts";
  write_sample(path);
  EXPECT_ERROR(load_shares(path, {{"model.v", at::zeros({1}), TensorShare::of_all({1})}}),
               invalid_argument);
  EXPECT_ERROR(load_shares(path, {{"model.w", at::zeros({6, 9}), TensorShare::of_all({6, 9})}}),
               invalid_argument);
  SharedTensor other = columns_of(0, 1);
  other.tensor = other.tensor.to(at::kHalf);
  EXPECT_ERROR(load_shares(path, {other}), invalid_argument);
  const fs::path part = path / "part-00000.safetensors";
  const auto size = int64_t(fs::file_size(part));
  testing::flip_bit(part, size - 5);
  EXPECT_ERROR(load_shares(path, {columns_of(0, 2)}), corrupt);
  testing::flip_bit(part, size - 5);
  check_checkpoint(path);
  for (const fs::path& file : {part, path / "manifest.safetensors"}) {
    for (int64_t at = 0; at < int64_t(fs::file_size(file)); at += 7) {
      testing::flip_bit(file, at);
      // The text of a part is compared with that of the manifest as far as it is used.
      if (file != part || at < 8 || at >= size - 96) {
        EXPECT_THROW(check_checkpoint(path), Error) << file << ", byte " << at;
      }
      testing::flip_bit(file, at);
    }
  }
}

TEST(CheckpointParts, AreNotThereUnlessAllWereWritten) {
  const testing::TempDir temp;
  const fs::path run = temp / "run";
  const WorkDir dir = WorkDir::create(run);
  const fs::path path = dir.checkpoint_path(1, 0, /*in_parts=*/true);
  EXPECT_EQ(path.filename(), "epoch-0001.parts");
  testing::run_world(2, [&](Communicator& world) {
    const auto write = [&](at::ScalarType type) {
      SharedTensor own{"w", at::zeros({2}, type), {.whole_shape = {4}, .boxes = {}}};
      own.share.boxes = {{.begin = {2 * world.rank()}, .size = {2}}};
      write_parts(world, path, {}, {own});
    };
    // A file has no name for the type that rank 1 has.
    const auto fail = [&] { write(world.rank() == 1 ? at::kComplexDouble : at::kFloat); };
    if (world.rank() == 1) {
      EXPECT_ERROR(fail(), unsupported);
    } else {
      EXPECT_ERROR(fail(), io);
    }
    world.barrier();
    EXPECT_TRUE(list_checkpoints(run).empty());
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(fs::exists(path.string() + ".tmp"));
    world.barrier();
    write(at::kFloat);
  });
  ASSERT_EQ(list_checkpoints(run).size(), 1u);
  EXPECT_FALSE(fs::exists(path.string() + ".tmp"));
  // Without its manifest the folder is damaged, whatever else it holds.
  fs::rename(path / "manifest.safetensors", path / "manifest");
  EXPECT_TRUE(newest_whole_checkpoint(run, [](const std::string&) {}).path.empty());
}

// Two machines, each with a disk of its own under the same name.
TEST(CheckpointParts, NeedAFolderThatAllProcessesSee) {
  const testing::TempDir temp;
  testing::run_world(2, [&](Communicator& world) {
    const fs::path path = temp / std::to_string(world.rank()) / "c.parts";
    fs::create_directory(path.parent_path());
    const auto write = [&] { write_parts(world, path, {}, {columns_of(world.rank(), 2)}); };
    if (world.rank() == 1) {
      EXPECT_ERROR(write(), io);
      fs::create_directory(path.string() + ".tmp");  // of an earlier run
    } else {
      EXPECT_ERROR(write(), io);
    }
    world.barrier();
    if (world.rank() == 1) {
      EXPECT_ERROR(write(), io);
    } else {
      EXPECT_ERROR(write(), io);
    }
  });
}

TEST(CheckpointParts, OfAWorkFolderAreListedPassedOverAndRemoved) {
  const testing::TempDir temp;
  const fs::path run = temp / "run";
  const WorkDir dir = WorkDir::create(run);
  for (const int64_t epoch : {1, 2, 3}) write_sample(dir.checkpoint_path(epoch, 0, true));
  write_safetensors(dir.checkpoint_path(2, 16),
                    {.tensors = {{"a", at::zeros({3})}}, .metadata = {{"ffkit_checkpoint", "1"}}});
  EXPECT_EQ(list_checkpoints(run).size(), 4u);
  EXPECT_EQ(resolve_checkpoint(run), dir.checkpoint_path(3, 0, true));
  EXPECT_EQ(resolve_checkpoint(dir.checkpoint_path(1, 0, true)), dir.checkpoint_path(1, 0, true));
  EXPECT_EQ(resolve_checkpoint(run / "epoch-0001.parts/"), dir.checkpoint_path(1, 0, true));
  fs::remove(dir.checkpoint_path(3, 0, true) / "part-00000.safetensors");
  std::vector<std::string> said;
  const Say say = [&](const std::string& s) { said.push_back(s); };
  const ChosenCheckpoint chosen = newest_whole_checkpoint(run, say);
  EXPECT_EQ(chosen.path, dir.checkpoint_path(2, 16));
  chosen.put_damaged_aside(say);
  EXPECT_EQ(said.size(), 1u);
  EXPECT_TRUE(fs::exists(run / "epoch-0003.parts.damaged"));
  dir.prune(1, /*best_epoch=*/0);
  ASSERT_EQ(list_checkpoints(run).size(), 1u);
  EXPECT_FALSE(fs::exists(dir.checkpoint_path(1, 0, true)));
  // What a writer left that was killed.
  fs::create_directory(run / "epoch-0004.parts.tmp");
  WorkDir::reopen(run, dir.checkpoint_path(2, 16));
  EXPECT_FALSE(fs::exists(run / "epoch-0004.parts.tmp"));
}

}  // namespace

}  // namespace ffkit
