// SweepAnnouncer: tells the kernel which sweeps a keyframe will need, so that they come from a cold
// disk while others are decoded. A hint: where it is wrong, reading only takes longer. Immutable,
// so thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit::nuscenes {

class SweepAnnouncer {
 public:
  // Of the `num_previous` frames before a keyframe on each channel.
  SweepAnnouncer(const Dataset& keyframes, const Dataset& sweeps,
                 const std::vector<std::string>& channels, int64_t num_previous);

  void announce(int64_t keyframe) const noexcept;

  // Records begin .. end-1 of the sweeps.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  // What is announced of the channel that was number `channel` of those given.
  const Range& range(int64_t keyframe, size_t channel) const {
    return ranges_.at(static_cast<size_t>(keyframe) * num_channels_ + channel);
  }

 private:
  void announce(const Range& range) const;

  const Dataset sweeps_;
  size_t num_channels_;
  std::vector<Range> ranges_;  // by keyframe, then channel
};

}  // namespace ffkit::nuscenes
