// What PhotoMetricDistortion does to one picture: the draws of mmdetection's PhotoMetricDistortion,
// without pixels.
#pragma once

#include <ffkit/image/augmentation.h>
#include <ffkit/image/random.h>

#include "pixels/pixel_kernels.h"

namespace ffkit {

RowDistortion draw_distortion(const PhotoMetricDistortion& options, CounterRandom& random);

}  // namespace ffkit
