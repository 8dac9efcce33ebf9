// BatchMixer: LoaderOptions::mixing on the pictures of finished batches.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <cstddef>
#include <vector>

#include <ffkit/loader/loader_options.h>

#include "batch/slab_layout.h"
#include "batch/slab_pool.h"

namespace ffkit {

class BatchMixer {
 public:
  // Throws Error(invalid_argument) for values out of range and for mixing without an image field.
  BatchMixer(const LoaderOptions& options, const SlabLayout& layout);

  void run(int worker, BatchSlab& slab);

 private:
  const LoaderOptions& options_;
  const SlabLayout& layout_;
  std::vector<std::vector<std::byte>> scratch_;  // one picture for each
};

}  // namespace ffkit
