#include "sweep_announcer.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ffkit/nuscenes/record.h>

namespace ffkit::nuscenes {

SweepAnnouncer::SweepAnnouncer(const Dataset& keyframes, const Dataset& sweeps,
                               const std::vector<std::string>& channels, int64_t num_previous)
    : sweeps_(sweeps), num_channels_(channels.size()) {
  // Sweeps lie by scene, channel and time, so those before a keyframe are neighbours.
  const auto scenes = sweeps.string_column(sweep::kScene);
  const auto of_channels = sweeps.string_column(sweep::kChannel);
  const auto times = sweeps.int_column(sweep::kTimestamp);
  std::map<std::pair<std::string, std::string>, Range> stretches;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const auto added = stretches.try_emplace({scenes[i], of_channels[i]}, Range{number, number});
    added.first->second.end = number + 1;
  }
  const auto key_scenes = keyframes.string_column(keyframe::kScene);
  const auto key_times = keyframes.int_column(keyframe::kTimestamp);
  for (size_t i = 0; i < key_times.size(); ++i) {
    for (const std::string& name : channels) {
      Range& range = ranges_.emplace_back();
      const auto stretch = stretches.find({key_scenes[i], name});
      if (stretch == stretches.end()) continue;
      const auto first = times.begin() + stretch->second.begin;
      const auto last = times.begin() + stretch->second.end;
      range.end = std::lower_bound(first, last, key_times[i]) - times.begin();
      range.begin = std::max(stretch->second.begin, range.end - num_previous);
    }
  }
}

void SweepAnnouncer::announce(int64_t keyframe) const noexcept {
  try {
    for (size_t c = 0; c < num_channels_; ++c) announce(range(keyframe, c));
  } catch (const std::exception&) {
    // What is wrong with the sweeps is said where they are read.
  }
}

void SweepAnnouncer::announce(const Range& range) const {
  for (int64_t begin = range.begin; begin < range.end;) {
    const Dataset::Location first = sweeps_.locate(begin);
    int64_t bytes_end = first.record.offset + first.record.stored_bytes;
    for (++begin; begin < range.end; ++begin) {
      const Dataset::Location next = sweeps_.locate(begin);
      if (next.shard_index != first.shard_index) break;
      bytes_end = std::max(bytes_end, next.record.offset + next.record.stored_bytes);
    }
    sweeps_.shard(first.shard_index).announce(first.record.offset, bytes_end - first.record.offset);
  }
}

}  // namespace ffkit::nuscenes
