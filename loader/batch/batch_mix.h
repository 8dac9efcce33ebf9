// What BatchMixing does to one batch: the draw and the pixels. Labels: sample i counts as lambda * label[i] + (1 - lambda) * label[i - 1].
//
// lambda ~ Beta(alpha, alpha) is G1 / (G1 + G2) of two Gamma(alpha) numbers by Marsaglia and Tsang, "A simple method for generating gamma
// variables", 2000: of alpha + 1, times U^(1 / alpha), where alpha < 1, all in logarithms so that a small alpha does not
// underflow. Normal numbers by Box and Muller, one of each two 64-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>
#include <ffkit/loader/batch_mixing.h>

namespace ffkit {

double draw_beta(double alpha, CounterRandom& random);  // Beta(alpha, alpha), alpha > 0

struct MixDraw {
  double lambda =
      1;  // weight of the sample itself; of CutMix the share outside of the box, exactly
  bool is_cutmix = false;
  Rect box;  // what CutMix takes from the sample before
};
// Precondition: mixing.is_on(). For one batch: key `random` by the batch, not by a sample.
MixDraw draw_mix(const BatchMixing& mixing, CounterRandom& random, ImageSize size);

// Slice `number` of `count`, 0 <= number < count, of the work on one batch.
struct MixSlice {
  int number = 0;
  int count = 1;
};

// Mixes `num_samples` images [N, 3, H, W] or [N, H, W, 3] of `output` in place. `scratch` holds one image. MixUp is computed in f32 and rounded once to
// the type of the output (u8: to the nearest). The slices of a batch touch different pixels of all samples: they may run at the same time,
// in any order, with the same scratch.
void apply_mix(const MixDraw& draw, void* images, int64_t num_samples, ImageSize size,
               const ImageOutput& output, void* scratch, const MixSlice& slice = {});

}  // namespace ffkit
