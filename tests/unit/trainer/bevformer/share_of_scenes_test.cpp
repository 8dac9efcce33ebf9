#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/nuscenes/record.h>

#include "tasks/bevformer/evaluation/detection_evaluation.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

// Scenes of these numbers of keyframes.
Dataset scenes_of(const std::filesystem::path& folder, const std::vector<int>& lengths) {
  const Schema schema{
      {{.name = nuscenes::keyframe::kScene, .type = FieldType::string, .column = true},
       {.name = nuscenes::keyframe::kTimestamp,
        .type = FieldType::scalar,
        .dtype = DType::i64,
        .column = true}}};
  DatasetWriter writer(folder, {.split = "val", .schema = schema});
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  int64_t time = 0;
  for (size_t scene = 0; scene < lengths.size(); ++scene) {
    for (int i = 0; i < lengths[scene]; ++i) {
      builder.set_string(0, "scene-" + std::to_string(scene));
      builder.set_scalar<int64_t>(1, ++time);
      builder.encode(record);
      writer.append(record);
    }
  }
  writer.finish();
  return Dataset::open(folder);
}

TEST(ShareOfScenes, EachKeyframeIsOfOneProcessAndScenesStayWhole) {
  const testing::TempDir dir;
  const std::vector<int> lengths = {3, 1, 4, 1, 5, 2};
  const Dataset split = scenes_of(dir / "val", lengths);
  for (const int world_size : {1, 2, 3, 6, 8}) {
    std::set<int64_t> seen;
    size_t longest = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const std::vector<int64_t> share = share_of_scenes(split, rank, world_size);
      EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
      longest = std::max(longest, share.size());
      for (const int64_t keyframe : share) EXPECT_TRUE(seen.insert(keyframe).second);
      for (int64_t first = 0; const int length : lengths) {
        const auto of_scene = std::count_if(share.begin(), share.end(), [&](int64_t keyframe) {
          return keyframe >= first && keyframe < first + length;
        });
        EXPECT_TRUE(of_scene == 0 || of_scene == length);
        first += length;
      }
    }
    EXPECT_EQ(seen.size(), 16U);
    // 16 keyframes: 8 and 8 of two processes, 6 at most of three, and the longest scene where there
    // are as many processes as scenes.
    const size_t expected = world_size == 1 ? 16 : world_size == 2 ? 8 : world_size == 3 ? 6 : 5;
    EXPECT_LE(longest, expected) << world_size;
  }
}

}  // namespace
}  // namespace ffkit
