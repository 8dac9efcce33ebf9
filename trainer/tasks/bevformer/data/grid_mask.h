// GridMask (Chen et al., "GridMask Data Augmentation", 2020) as BEVFormer trains with it: pictures
// keep only what lies on a grid of broad lines.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include <ffkit/image/random.h>

namespace ffkit {

// [height, width] f32: 1 where pictures stay, 0 where they go. Lines repeat after d pixels, 2 <= d
// < height, across and down, each half as broad; d and where they begin are drawn. Undefined, with
// 1 - `probability`: pictures stay as they are. A picture of less than 3 rows stays as it is. As
// GridMask(True, True, rotate=1, offset=False, ratio=0.5, mode=1) of
// projects/mmdet3d_plugin/models/utils/grid_mask.py, with other random numbers.
at::Tensor draw_grid_mask(int64_t height, int64_t width, double probability, CounterRandom& random);

// images [B, cameras, 3, height, width] with a mask on each sample. What a sample draws depends on
// the seed, the epoch and the number of its keyframe, `keyframes`[B], alone.
at::Tensor cover_with_grids(const at::Tensor& images, double probability, uint64_t seed,
                            int64_t epoch, std::span<const int64_t> keyframes);

}  // namespace ffkit
