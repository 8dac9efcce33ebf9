// Keyframes to train on: a choice of those that have boxes; scenes that stay together, and windows
// of a frame and those before it, for temporal models.
//
//   keyframes     0 1 2 | 3 4 ...                           scenes of 3 and of 2
//   windows       0 0 0 | 0 0 1 | 0 1 2 | 3 3 3 | 3 3 4     of 2 previous frames, oldest first
//   is_repeated   1 1 0 | 1 0 0 | 0 0 0 | 1 1 0 | 1 0 0
//
// Pure functions: thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/sampler.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

// Which keyframes to train on: those that have boxes, and a choice in which rare classes come more
// often.
//
//   const KeptBoxes kept = read_kept_boxes(split.keyframes, options.boxes);
//   make_windows(split.keyframes, 3).select(keyframes_with_boxes(kept));            // each once
//   make_windows(split.keyframes, 3).select(class_balanced(kept, seed, 0).keyframes);

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

// Where each scene begins, for SamplerOptions::groups. Error(invalid_argument) where records of a
// scene do not lie next to each other in the order of time, as ffconvert writes them.
std::shared_ptr<const std::vector<int64_t>> scene_groups(const Dataset& keyframes);

struct Windows {
  // For the Loader: window w is its records w * length .. w * length + length - 1. The last of them
  // is keyframe w.
  Dataset frames;
  int64_t length = 1;
  // [frames.num_records()] 1 where a scene has no frame so far back and its first one stands in.
  std::vector<uint8_t> is_repeated;
  std::shared_ptr<const std::vector<int64_t>> groups;

  // Adds what keeps windows whole and draws their augmentation once. LoaderOptions::batch_size must
  // then be a multiple of `length`: a batch [B * length, ...] is [B, length, ...].
  void apply(SamplerOptions& options) const;
  // is_repeated of a batch's samples. Error(invalid_argument) for one that is no record of
  // `frames`.
  [[nodiscard]] std::vector<uint8_t> mask(std::span<const int64_t> record_indices) const;
  // For a batch of whole windows one after another: 1 for a frame that follows another one in its
  // window; 0 for the first of a window, for a frame behind one that only stands in, and behind a
  // replacement (BadSamples::skip) that tore them apart. A temporal model starts anew at a 0.
  // Error as mask().
  [[nodiscard]] std::vector<uint8_t> has_previous(std::span<const int64_t> record_indices) const;
  // The windows with these numbers, 0 .. num_windows()-1, in this order; numbers may repeat. Those
  // of make_windows() and draw_windows() are numbered as their keyframes. A window that is there
  // twice draws two augmentations. Error(invalid_argument) for a number that is out of range.
  [[nodiscard]] Windows select(std::span<const int64_t> windows) const;
  [[nodiscard]] int64_t num_windows() const { return std::ssize(*groups); }
};

// From the field `motion` of a batch, [samples * 18], to what BEVFormer's network takes
// (union2one() of CustomNuScenesDataset): numbers 0-2 and 17 become differences to the sample
// before where has_previous is 1, else 0. Degrees are subtracted as they are: a turn across 0 gives
// nearly +-360. Error(invalid_argument) when there are not 18 numbers for each of has_previous, or
// its first is 1.
void to_differences(std::span<double> motion, std::span<const uint8_t> has_previous);

// A window for each keyframe: it and `num_previous` (0 .. 1000) before it. Of a subset of a split
// the frames before are those of the subset. Errors as scene_groups().
Windows make_windows(const Dataset& keyframes, int64_t num_previous);

// The same with one frame more to choose from: of the `num_previous` + 1 frames before a keyframe,
// one is left out, drawn anew for each epoch by (seed, epoch, number of the keyframe in its split).
// So the time between frames varies, as BEVFormer trains
// (CustomNuScenesDataset.prepare_train_data()). A loader of these windows is one of that epoch.
Windows draw_windows(const Dataset& keyframes, int64_t num_previous, uint64_t seed, int64_t epoch);

}  // namespace ffkit::nuscenes
