// RandomErasing on a finished sample.
#pragma once

#include <ffkit/image/augmentation.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/random.h>

namespace ffkit {

// The rectangle that is erased of a picture of `size`, of width 0 when nothing is. torchvision's
// RandomErasing.get_params.
Rect draw_erasing(const RandomErasing& options, ImageSize size, CounterRandom& random);

// Draws and erases: `image` is one sample of `size` as `output` says.
void erase(const RandomErasing& options, const ImageOutput& output, ImageSize size,
           CounterRandom& random, void* image);

}  // namespace ffkit
