// cut_padding: the arrays of padded views become as large as the largest picture of the batch.
#pragma once

#include "batch/slab_pool.h"

namespace ffkit {

// For who finishes a batch: cuts them in place, and sets their shapes.
void cut_padding(const SlabLayout& layout, BatchSlab& slab);

}  // namespace ffkit
