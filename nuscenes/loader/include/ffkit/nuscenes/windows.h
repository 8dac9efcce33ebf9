// Keyframes for training: a selection of those with boxes; scenes that stay together; and windows
// of a frame and its predecessors, for temporal models.
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

// Selections of keyframes for training: those with boxes, or a selection with more of rare classes.
//
//   const KeptBoxes kept = read_kept_boxes(split.keyframes, options.boxes);
//   make_windows(split.keyframes, 3).select(keyframes_with_boxes(kept));            // each once
//   make_windows(split.keyframes, 3).select(class_balanced(kept, seed, 0).keyframes);

// The kept boxes of each keyframe, by its number in the data set.
struct KeptBoxes {
  std::vector<int64_t> num_boxes;                     // number of boxes that BoxOptions keeps
  std::vector<std::bitset<kClasses.size()>> classes;  // bit c: one of them has class c
};

// Reads two fields of each record, three with options.range, but not pictures and points: 28,000
// keyframes take half a second from the page cache and ten from a cold disk, on one thread. A set
// with --zstd is read completely. The range applies to boxes before augmentation; max_boxes and
// layout do not count. Throws like Dataset::read_field, and Error(invalid_argument) for options out
// of range.
KeptBoxes read_kept_boxes(const Dataset& keyframes, const BoxOptions& options);

// The numbers of the keyframes that have a box, ascending.
std::vector<int64_t> keyframes_with_boxes(const KeptBoxes& kept);

struct ClassBalance {
  std::vector<int64_t> keyframes;  // numbers, repeated; class by class, so a sampler must shuffle
  // Number of keyframes with a box of the class: all, and the selected ones with repetitions.
  std::array<int64_t, kClasses.size()> num_before{};
  std::array<int64_t, kClasses.size()> num_after{};
};

// CBGSDataset of mmdetection3d: of n_c keyframes with class c, int(n_c * (1/10) / (n_c / sum of all
// n)) are drawn with replacement, so every class gives a tenth. A class without keyframes gives
// none. mmdetection3d counts all valid boxes at any place: read boxes without a range for the same
// selection, or with a range so that every keyframe has boxes. Drawn for each (seed, epoch), the
// same number in each epoch; mmdetection3d draws once for all epochs.
ClassBalance class_balanced(const KeptBoxes& kept, uint64_t seed, int64_t epoch);

// The begin of each scene, for SamplerOptions::groups. Error(invalid_argument) if records of a
// scene are not next to each other in the order of time, as ffconvert writes them.
std::shared_ptr<const std::vector<int64_t>> scene_groups(const Dataset& keyframes);

struct Windows {
  // For the Loader: window w is its records w * length .. w * length + length - 1. The last of them
  // is keyframe w.
  Dataset frames;
  int64_t length = 1;
  // [frames.num_records()] 1 if a scene has no such early frame, and its first frame replaces it.
  std::vector<uint8_t> is_repeated;
  std::shared_ptr<const std::vector<int64_t>> groups;

  // Adds options that keep windows together and give each window one augmentation.
  // LoaderOptions::batch_size must then be a multiple of `length`: a batch [B * length, ...] is [B,
  // length, ...].
  void apply(SamplerOptions& options) const;
  // The values of is_repeated for the samples of a batch. Throws Error(invalid_argument) if a
  // sample is not a record of `frames`.
  [[nodiscard]] std::vector<uint8_t> mask(std::span<const int64_t> record_indices) const;
  // For a batch of whole windows: 1 if a frame follows another one in its window; 0 for the first
  // of a window, after a repeated frame, and after a replacement of a bad sample
  // (BadSamples::skip). A temporal model must start again at a 0. Error like mask().
  [[nodiscard]] std::vector<uint8_t> has_previous(std::span<const int64_t> record_indices) const;
  // The windows with these numbers, 0 .. num_windows()-1, in this order; numbers may repeat. In
  // make_windows() and draw_windows(), windows have the numbers of their keyframes. A repeated
  // window gets different augmentations. Error(invalid_argument) for a number out of range.
  [[nodiscard]] Windows select(std::span<const int64_t> windows) const;
  [[nodiscard]] int64_t num_windows() const { return std::ssize(*groups); }
};

// Converts the field `motion` of a batch, [samples * 18], for BEVFormer's network (union2one() of
// CustomNuScenesDataset): numbers 0-2 and 17 become differences to the sample before if
// has_previous is 1, else 0. Degrees are simply subtracted: a turn across 0 gives nearly +-360.
// Error(invalid_argument) if there are not 18 numbers for each sample, or the first has_previous is
// 1.
void to_differences(std::span<double> motion, std::span<const uint8_t> has_previous);

// A window for each keyframe: the keyframe and the `num_previous` (0 .. 1000) before it. In a
// subset, earlier frames are those of the subset. Errors like scene_groups().
Windows make_windows(const Dataset& keyframes, int64_t num_previous);

// The same, but one of the `num_previous` + 1 frames before a keyframe is left out at random, by
// (seed, epoch, number of the keyframe in its split). So the time between frames varies, as in
// BEVFormer (CustomNuScenesDataset.prepare_train_data()). A loader of these windows is for that
// epoch only.
Windows draw_windows(const Dataset& keyframes, int64_t num_previous, uint64_t seed, int64_t epoch);

}  // namespace ffkit::nuscenes
