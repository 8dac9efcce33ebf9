#include "batch/batch_mixer.h"

#include <ffkit/format/schema.h>

#include "base/make_error.h"
#include "batch/mix_images.h"
#include "image/random_numbers/random_streams.h"

namespace ffkit {

BatchMixer::BatchMixer(const LoaderOptions& options, const SlabLayout& layout)
    : options_(options), layout_(layout) {
  validate(options.mixing);
  if (!options.mixing.is_on()) return;
  if (layout.image < 0) {
    throw Error(ErrorCode::invalid_argument,
                "mixing needs images, but image_field is empty; give it or leave mixing out");
  }
  const DType dtype = options.image.output.dtype;
  if (dtype == DType::u16 || dtype == DType::i32) {
    throw error_of(ErrorCode::invalid_argument,
                   "mixing makes colours in between, and {} output has the values of the file; "
                   "expected a dtype of f32, f16, bf16 or u8, or no mixing",
                   to_string(dtype));
  }
  const size_t bytes_per_image = layout.fields[layout.image].bytes_per_sample;
  scratch_.resize(options.num_threads);
  for (auto& image : scratch_) image.resize(bytes_per_image);
}

void BatchMixer::run(int worker, BatchSlab& slab) {
  slab.mix_lambda = 1;
  if (!options_.mixing.is_on()) return;
  const ImageSize size = image_size(options_.image.transform);
  CounterRandom random({options_.sampler.seed, slab.epoch, slab.position}, kMixingStream);
  const MixDraw draw = draw_mix(options_.mixing, random, size);
  std::byte* images = slab.memory + layout_.fields[layout_.image].offset;
  mix_images(draw, images, slab.size, size, options_.image.output, scratch_[worker].data());
  slab.mix_lambda = draw.lambda;
}

}  // namespace ffkit
