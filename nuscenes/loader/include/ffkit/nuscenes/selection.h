// Which keyframes to train on: those that have boxes, and a choice in which rare classes come more
// often.
//
//   const KeptBoxes kept = read_kept_boxes(split.keyframes, options.boxes);
//   make_windows(split.keyframes, 3).select(keyframes_with_boxes(kept));            // each once
//   make_windows(split.keyframes, 3).select(class_balanced(kept, seed, 0).keyframes);
//
// Plain values and pure functions: thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

// The kept boxes of each keyframe, by its number in the data set.
struct KeptBoxes {
  std::vector<int64_t> num_boxes;                     // number of boxes that BoxOptions keeps
  std::vector<std::bitset<kClasses.size()>> classes;  // bit c: one of them has class c
};

// Reads two fields of each record, three with options.range, and no pictures or points: 28,000
// keyframes take half a second from the page cache and ten from a cold disk, on one thread. A
// set that was converted with --zstd is read as a whole. The range is that of boxes before the
// augmentation; max_boxes and layout do not count. Throws what Dataset::read_field throws, and
// Error(invalid_argument) for options out of range.
KeptBoxes read_kept_boxes(const Dataset& keyframes, const BoxOptions& options);

// The numbers of the keyframes that have a box, ascending.
std::vector<int64_t> keyframes_with_boxes(const KeptBoxes& kept);

struct ClassBalance {
  std::vector<int64_t> keyframes;  // numbers, repeated; class by class, so a sampler must shuffle
  // Keyframes with a box of the class: all there are, and those chosen, repeated ones as often as
  // they are there.
  std::array<int64_t, kClasses.size()> num_before{};
  std::array<int64_t, kClasses.size()> num_after{};
};

// CBGSDataset of mmdetection3d: of n_c keyframes with class c, int(n_c * (1/10) / (n_c / sum of all
// n)) are drawn with replacement, so every class gives a tenth. A class that no keyframe has gives
// none. mmdetection3d counts all valid boxes, wherever they are: read them without a range for its
// choice, and with one so that no keyframe is without boxes. Drawn from (seed, epoch), as many in
// each epoch; mmdetection3d draws once for all epochs.
ClassBalance class_balanced(const KeptBoxes& kept, uint64_t seed, int64_t epoch);

}  // namespace ffkit::nuscenes
