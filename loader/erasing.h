// RandomErasing on a finished sample.
#pragma once

#include <ffkit/format/image_codec.h>
#include <ffkit/loader/augmentation.h>
#include <ffkit/loader/random.h>

namespace ffkit {

// The rectangle that is erased of an image of `size`, of width 0 when nothing is. torchvision's RandomErasing.get_params.
Rect draw_erasing(const RandomErasing& options, ImageSize size, CounterRandom& random);

// Draws and erases: `image` is one sample of `size` as `output` says.
void erase(const RandomErasing& options, const ImageOutput& output, ImageSize size,
           CounterRandom& random, void* image);

}  // namespace ffkit
