#include "distributed/communicator.h"

#include "support/world.h"
#include "trainer_prelude.h"
#include "whole_files.h"

namespace ffkit {
namespace {

TEST(Communicator, DoesNothingAlone) {
  Communicator alone({}, c10::kCPU);
  EXPECT_TRUE(alone.is_alone());
  EXPECT_EQ(alone.sum(std::vector<double>{2}), std::vector<double>{2});
  EXPECT_EQ(alone.broadcast("text"), "text");
  alone.barrier();
}

TEST(Communicator, GivesRankZerosValuesToAll) {
  testing::run_world(3, [](Communicator& c) {
    // Two dtypes in turn, one of them not contiguous.
    const std::vector<at::Tensor> tensors = {at::full({2, 3}, c.rank(), at::kFloat),
                                             at::full({4}, c.rank(), at::kLong),
                                             at::full({3, 2}, c.rank(), at::kFloat).t()};
    c.broadcast(tensors);
    for (const at::Tensor& t : tensors) EXPECT_TRUE(t.eq(0).all().item<bool>());
    EXPECT_EQ(c.broadcast(c.rank() == 0 ? "from zero" : "other"), "from zero");
    EXPECT_EQ(c.broadcast(""), "");
  });
}

TEST(Communicator, AddsUpAndGathers) {
  testing::run_world(3, [](Communicator& c) {
    EXPECT_EQ(c.sum(std::vector<double>{1, double(c.rank())}), (std::vector<double>{3, 3}));
    at::Tensor t = at::arange(4, at::kFloat) * c.rank();
    c.sum(t);
    EXPECT_TRUE(t.equal(at::arange(4, at::kFloat) * 3));
    const std::vector<at::Tensor> all = c.all_gather(at::full({2}, c.rank(), at::kFloat));
    ASSERT_EQ(all.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(all[size_t(i)].eq(i).all().item<bool>());
  });
}

TEST(Communicator, NamesTheRankWhenAnotherIsGone) {
  const auto leave = [](Communicator& c) {
    c.barrier();
    if (c.rank() == 1) return;  // goes without a word
    c.sum(std::vector<double>{1});
  };
  EXPECT_ERROR(testing::run_world(2, leave, 20), io);
}

ProcessPlace place_at(const std::string& meeting_point, int rank = 1, int world_size = 2) {
  ProcessPlace place;
  place.rank = rank;
  place.world_size = world_size;
  place.meeting_point = meeting_point;
  place.timeout_seconds = 0.3;
  return place;
}

TEST(Communicator, SaysWhenOthersDoNotCome) {
  // Nobody serves there.
  EXPECT_ERROR(Communicator(place_at("tcp://127.0.0.1:9"), c10::kCPU), io);
  EXPECT_ERROR(Communicator(place_at("tcp://[::1]:9"), c10::kCPU), io);
  const testing::TempDir temp;
  const std::string file = "file://" + (temp / "store").string();
  EXPECT_ERROR(Communicator(place_at(file), c10::kCPU), io);
  EXPECT_ERROR(Communicator(place_at(file, 0, 3), c10::kCPU), io);
}

TEST(Communicator, SaysAtOnceWhereNobodyCanMeet) {
  const testing::TempDir temp;
  EXPECT_ERROR(Communicator(place_at("file://" + (temp / "no/store").string()), c10::kCPU),
               invalid_argument);
  EXPECT_ERROR(Communicator(place_at("file://" + temp.path().string()), c10::kCPU),
               invalid_argument);
}

// libtorch would wait for the rest of an entry with the file's lock, and the lock be blamed.
TEST(Communicator, SaysAtOnceWhereAFileHoldsSomethingElse) {
  const testing::TempDir temp;
  const std::string entry("\x02\0\0\0/a\x01\0\0\0b", 11);
  const std::string notes = "what somebody has written\n";
  for (const std::string& text : {notes, std::string(64, '\0'), entry.substr(0, 6),
                                  entry.substr(0, 10), entry + "x", entry + notes}) {
    testing::write_file(temp / "store", text);
    EXPECT_ERROR(Communicator(place_at("file://" + (temp / "store").string()), c10::kCPU),
                 invalid_argument);
    EXPECT_EQ(testing::read_file(temp / "store"), text);
  }
  EXPECT_ERROR(Communicator(place_at("file:///proc/store"), c10::kCPU), io);
}

TEST(Communicator, NamesAHostThatIsNotKnown) {
  EXPECT_ERROR(Communicator(place_at("tcp://no-host.invalid:9"), c10::kCPU), io);
  setenv("MASTER_ADDR", "no-host.invalid", 1);
  EXPECT_ERROR(Communicator(place_at("tcp://no-host.invalid:9", 0), c10::kCPU), io);
  unsetenv("MASTER_ADDR");
}

// As a run that was killed leaves it behind.
TEST(Communicator, SeesNothingOfARunBeforeInTheFile) {
  const testing::TempDir temp;
  const std::string first = (temp / "store").string(), second = (temp / "copy").string();
  testing::run_world(
      2,
      [&](Communicator& c) {
        c.barrier();
        if (c.rank() == 0) std::filesystem::copy_file(first, second);
        c.barrier();
      },
      20, first);
  testing::run_world(
      2, [](Communicator& c) { EXPECT_EQ(c.sum(std::vector<double>{1})[0], 2); }, 20, second);
}

TEST(Communicator, RefusesABackendThatDoesNotFit) {
  ProcessPlace place;
  place.backend = "nccl";
  EXPECT_ERROR(Communicator(place, c10::kCPU), invalid_argument);
  place.backend = "smoke";
  EXPECT_ERROR(Communicator(place, c10::kCPU), invalid_argument);
}

TEST(OnRankZero, ThrowsEverywhere) {
  testing::run_world(2, [](Communicator& c) {
    const auto fail = [] { throw Error(ErrorCode::corrupt, "bad file"); };
    if (c.rank() == 0) {
      EXPECT_ERROR(on_rank_0(c, fail), corrupt);
    } else {
      EXPECT_ERROR(on_rank_0(c, fail), io);
    }
    int num_calls = 0;
    on_rank_0(c, [&] { ++num_calls; });
    EXPECT_EQ(num_calls, c.rank() == 0 ? 1 : 0);
  });
}

}  // namespace
}  // namespace ffkit
