// The pixels of a batch after MixUp or CutMix, as drawn.
#pragma once

#include <cstdint>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/transform.h>

#include "batch/mix_draw.h"

namespace ffkit {

// Slice `number` of `count`, 0 <= number < count, of the work on one batch.
struct MixSlice {
  int number = 0;
  int count = 1;
};

// Mixes `num_samples` pictures [N, 3, H, W] or [N, H, W, 3] of `output` in place. `scratch` holds
// one picture. MixUp is computed in f32 and rounded once to the type of the output (u8: to the
// nearest). The slices of a batch touch different pixels of all samples: they may run at the same
// time, in any order, with the same scratch.
void mix_images(const MixDraw& draw, void* images, int64_t num_samples, ImageSize size,
                const ImageOutput& output, void* scratch, const MixSlice& slice = {});

}  // namespace ffkit
