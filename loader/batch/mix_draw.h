// What MixUp or CutMix is to do to one batch, drawn at random. Labels: sample i counts as lambda *
// label[i] + (1 - lambda) * label[i - 1].
//
// lambda ~ Beta(alpha, alpha) is G1 / (G1 + G2) of two Gamma(alpha) numbers by Marsaglia and Tsang,
// "A simple method for generating gamma variables", 2000: of alpha + 1, times U^(1 / alpha), where
// alpha < 1, all in logarithms so that a small alpha does not underflow. Normal numbers by Box and
// Muller, one of each two 64-bit numbers.
#pragma once

#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>
#include <ffkit/loader/mix_options.h>

namespace ffkit {

double draw_beta(double alpha, CounterRandom& random);  // Beta(alpha, alpha), alpha > 0

struct MixDraw {
  // Weight of the sample itself; of CutMix the share outside of the box, exactly.
  double lambda = 1;
  bool is_cutmix = false;
  Rect box;  // what CutMix takes from the sample before
};
// Precondition: options.is_on(). For one batch: key `random` by the batch, not by a sample.
MixDraw draw_mix(const MixOptions& options, CounterRandom& random, ImageSize size);

}  // namespace ffkit
