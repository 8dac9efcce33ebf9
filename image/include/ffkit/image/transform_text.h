// Transforms as text, for command lines: the words of Python's package and of torchvision.
//
//   parse_transforms("RandomResizedCrop(224, scale=(0.4, 1)), ColorJitter(0.4, hue=0.1), "
//                    "Apply(0.1, GaussianBlur((0.1, 2))), RandomErasing(0.25)")
//
//   RandomResizedCrop ... ─▶ ImageOptions::transform      ColorJitter ... ─▶ augmentations
//   RandomErasing         ─▶ erasing
//
// Names, parameters, their order and their defaults are those of ffkit's Python package. Values are
// numbers (3/4 too), names in single or double quotes, True, False, None, tuples and lists, and
// range(480, 801, 32).
//
// Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ffkit/image/image_options.h>

namespace ffkit {

// Reads transforms with commas between them. One step of geometry that is a transform by itself
// becomes the transform; several, and those of a Compose, become a Compose. Augmentations keep
// their order. They and the erasing come after all geometry, wherever they stand. `output` is the
// default. Values are not checked for their ranges: validate() does that.
//
// Throws Error(invalid_argument) that quotes the part of the text that does not fit: for what is
// not written as above, names and parameters that there are not (with the nearest ones), values of
// another kind, a text without geometry, a second RandomErasing, a ScalePad beside another step,
// and more than 40 brackets in each other.
ImageOptions parse_transforms(std::string_view text);

// What parse_transforms() knows, each with its parameters and their defaults, as Python would show
// it: "Resize(size=224, interpolation=\"bilinear\")". A parameter without a default is a name
// alone.
std::vector<std::string> transform_signatures();

}  // namespace ffkit
