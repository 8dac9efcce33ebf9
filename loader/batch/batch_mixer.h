// MixUp and CutMix: BatchMixer draws what they are to do to a finished batch, and does it to the
// pictures.
//
// Labels: sample i counts as lambda * label[i] + (1 - lambda) * label[i - 1].
//
// lambda ~ Beta(alpha, alpha) is G1 / (G1 + G2) of two Gamma(alpha) numbers by Marsaglia and Tsang,
// "A simple method for generating gamma variables", 2000: of alpha + 1, times U^(1 / alpha), where
// alpha < 1, all in logarithms so that a small alpha does not underflow. Normal numbers by Box and
// Muller, one of each two 64-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>
#include <ffkit/loader/loader_options.h>

#include "batch/slab_pool.h"

namespace ffkit {

double draw_beta(double alpha, CounterRandom& random);  // Beta(alpha, alpha), alpha > 0

// What is to be done to one batch.
struct MixDraw {
  // Weight of the sample itself; of CutMix the share outside of the box, exactly.
  double lambda = 1;
  bool is_cutmix = false;
  Rect box;  // what CutMix takes from the sample before
};
// Precondition: options.is_on(). For one batch: key `random` by the batch, not by a sample.
MixDraw draw_mix(const MixOptions& options, CounterRandom& random, ImageSize size);

// Mixes `num_samples` pictures [N, 3, H, W] or [N, H, W, 3] of `output` in place. `scratch` holds
// one picture. MixUp is computed in f32 and rounded once to the type of the output (u8: to the
// nearest).
void mix_images(const MixDraw& draw, void* images, int64_t num_samples, ImageSize size,
                const ImageOutput& output, void* scratch);

// The vector loop of MixUp, compiled for several instruction sets: values = others * other_weight +
// values * weight, computed in f32 without contraction.
struct MixJob {
  void* values = nullptr;
  const void* others = nullptr;
  size_t num_values = 0;
  DType dtype = DType::f32;  // u8, f16, bf16 or f32
  float weight = 1;
  float other_weight = 0;
};
void mix_values(const MixJob& job);

// LoaderOptions::mixing on the pictures of finished batches. Thread-safe as long as no two threads
// are the same `worker` at the same time.
class BatchMixer {
 public:
  // Throws Error(invalid_argument) for values out of range, for mixing without an image field, and
  // for an array that would stay as it was beside pictures that are mixed.
  BatchMixer(const LoaderOptions& options, const SlabLayout& layout);

  void run(int worker, BatchSlab& slab);

 private:
  const LoaderOptions& options_;
  const SlabLayout& layout_;
  // What is mixed: the pictures, and what follows them where CutMix alone is on.
  struct Mixed {
    size_t field;  // of the layout
    ImageOutput output;
  };
  std::vector<Mixed> mixed_;
  std::vector<std::vector<std::byte>> scratch_;  // of each thread, a sample of any of them
};

}  // namespace ffkit
