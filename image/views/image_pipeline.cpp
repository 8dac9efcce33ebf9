#include "views/image_pipeline.h"

#include <chrono>

namespace ffkit {

void ImagePipeline::run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
                        PipelineTimes& times) {
  const size_t first = 0;
  views_.begin(encoded, {&first, 1}, {&key, 1}, times);
  views_.write(0, out, times);
}

}  // namespace ffkit
