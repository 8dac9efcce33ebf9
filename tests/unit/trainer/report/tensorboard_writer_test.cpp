#include <ffkit/base/crc32c.h>

#include "reference_python.h"
#include "report/metrics_log.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

template <typename T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// The events of a file, whose framing is checked.
std::vector<std::string> read_events(const fs::path& path) {
  const std::string text = testing::read_file(path);
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const auto masked = [&](size_t offset, size_t length) {
    const uint32_t crc = crc32c({bytes + offset, length});
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
  };
  std::vector<std::string> events;
  for (size_t at = 0; at < text.size();) {
    const auto length = load<uint64_t>(bytes + at);
    EXPECT_EQ(load<uint32_t>(bytes + at + 8), masked(at, 8));
    EXPECT_EQ(load<uint32_t>(bytes + at + 12 + length), masked(at + 12, length));
    events.push_back(text.substr(at + 12, length));
    at += length + 16;
  }
  return events;
}

TEST(TensorboardWriter, WritesFramedEvents) {
  const testing::TempDir temp;
  TensorboardWriter writer(temp.path(), 1);
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));
  writer.write(300, {{"loss", 0.5}, {"lr", 0.25}});
  // Nothing is closed or flushed: what was written must be there for a process that is killed now.
  const std::vector<std::string> events = read_events(writer.path());
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(events[0].substr(9), std::string("\x10\x00\x1a\x0d", 4) + "brain.Event:2");
  EXPECT_EQ(events[1].substr(9), "\x10\x01\x3a\x02\x08\x01");
  // step 300 as a varint; a summary of two values: tag, f32.
  EXPECT_EQ(events[2].substr(9), std::string("\x10\xac\x02\x2a\x18"
                                             "\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f"
                                             "\x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3e",
                                             29));
}

TEST(TensorboardWriter, MakesAFileOfItsOwnEachTime) {
  const testing::TempDir temp;
  const TensorboardWriter first(temp.path(), 1);
  const TensorboardWriter second(temp.path(), 1);
  EXPECT_NE(first.path(), second.path());
}

TEST(TensorboardWriter, SaysWhichFolderIsMissing) {
  const testing::TempDir temp;
  EXPECT_ERROR(TensorboardWriter(temp / "nowhere", 1), io);
}

TEST(TensorboardWriter, IsReadByTensorboard) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir temp;
  if (!testing::run_python("import tensorboard", temp.path())) {
    GTEST_SKIP()
        << "$FFKIT_REFERENCE_PYTHON has no tensorboard; tools/setup --reference installs it";
  }
  {
    TensorboardWriter writer(temp.path(), 1);
    for (int64_t step = 10; step <= 50; step += 10) {
      writer.write(step, {{"train/loss", 1.0 / double(step)}, {"train/lr", 0.1}});
    }
    writer.write(50, {{"validation/top1", 0.75}});
    std::ofstream(writer.path(), std::ios::app | std::ios::binary) << "torn";  // killed in a write
  }
  {
    // Resumed after step 30: what was said about later steps is void.
    TensorboardWriter writer(temp.path(), 31);
    writer.write(40, {{"train/loss", 7}, {"train/lr", std::numeric_limits<double>::infinity()}});
  }
  ASSERT_TRUE(testing::run_python(R"(
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
accumulator = EventAccumulator(".", size_guidance={"scalars": 0})
accumulator.Reload()
with open("scalars", "w") as out:
    for tag in sorted(accumulator.Tags()["scalars"]):
        for event in accumulator.Scalars(tag):
            print(tag, event.step, "%.4f" % event.value, event.wall_time > 1.7e9, file=out)
)",
                                  temp.path()));
  EXPECT_EQ(testing::read_file(temp / "scalars"),
            "train/loss 10 0.1000 True\ntrain/loss 20 0.0500 True\ntrain/loss 30 0.0333 True\n"
            "train/loss 40 7.0000 True\n"
            "train/lr 10 0.1000 True\ntrain/lr 20 0.1000 True\ntrain/lr 30 0.1000 True\n"
            "train/lr 40 inf True\n");
}

}  // namespace
}  // namespace ffkit
