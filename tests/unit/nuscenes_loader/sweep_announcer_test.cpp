#include "sweep_announcer.h"

#include <gtest/gtest.h>

#include <cstring>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "nuscenes/make_nuscenes.h"
#include "temp_dir.h"

namespace ffkit::nuscenes {
namespace {

// The sweeps that a keyframe's record names among the `num_previous` frames before it.
std::vector<int64_t> named_sweeps(const Dataset& keyframes, int64_t record, size_t num_previous) {
  std::vector<std::byte> bytes;
  const size_t field = keyframes.schema().require(channel_field(kLidar, channel::kSweeps));
  keyframes.read_field(record, field, bytes);
  const TensorView stored = FieldView(keyframes.schema().fields[field], bytes, false).tensor();
  std::vector<int64_t> pairs(stored.data.size() / sizeof(int64_t));
  if (!pairs.empty()) std::memcpy(pairs.data(), stored.data.data(), stored.data.size());
  std::vector<int64_t> sweeps;
  for (size_t i = 0; i < pairs.size() && i < 2 * num_previous; i += 2) {
    if (pairs[i] == 1) sweeps.push_back(pairs[i + 1]);
  }
  return sweeps;
}

TEST(SweepAnnouncer, AnnouncesWhatKeyframesName) {
  testing::TempDir dir;
  testing::make_nuscenes(dir / "set", {.num_scenes = 3, .keyframes_per_scene = 4});
  const Split split = open_split(dir / "set", "mini_val");
  for (const int64_t num_previous : {1, 5, 10}) {
    const SweepAnnouncer announcer(split.keyframes, *split.sweeps,
                                   {"RADAR_FRONT", std::string(kLidar)}, num_previous);
    for (int64_t record = 0; record < split.keyframes.num_records(); ++record) {
      announcer.announce(record);
      EXPECT_EQ(announcer.range(record, 0).begin, announcer.range(record, 0).end);
      // Of its scene, none but those before it, and all that are named: a few more where keyframes
      // are among the frames before.
      const SweepAnnouncer::Range& range = announcer.range(record, 1);
      const auto named = named_sweeps(split.keyframes, record, static_cast<size_t>(num_previous));
      EXPECT_LE(range.end - range.begin, num_previous);
      if (named.empty()) {
        EXPECT_EQ(record % 4, 0);
        EXPECT_EQ(range.begin, range.end);
        continue;
      }
      EXPECT_EQ(range.end, named.front() + 1);
      EXPECT_LE(range.begin, named.back());
      EXPECT_GE(range.begin, record / 4 * 6);  // where the sweeps of its scene begin
    }
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
