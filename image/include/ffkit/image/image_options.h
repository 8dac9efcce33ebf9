// ImageOptions: all that happens between an encoded picture and its place in the batch.
//
//   decode ─▶ transform (crop, resize, flip) ─▶ augmentations in order
//          ─▶ normalise, convert, lay out ─▶ erasing
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/transform.h>

namespace ffkit {

struct ImageOptions {
  ImageTransform transform = RandomResizedCrop{};
  std::vector<Augmentation> augmentations = {};  // at most 16 of a kind
  std::optional<RandomErasing> erasing = {};
  ImageOutput output = {};
};

// Throws Error(invalid_argument) that names the first value out of range.
void validate(const ImageOptions& options);

// Whether one of them, or of those within an Apply or OneOf, moves pixels to other places:
// RandAugment, TrivialAugmentWide and AutoAugment.
bool moves_pixels(const std::vector<Augmentation>& augmentations);

// Transforms as text, for command lines: the words of Python's package and of torchvision.
//
//   parse_transforms("RandomResizedCrop(224, scale=(0.4, 1)), ColorJitter(0.4, hue=0.1), "
//                    "Apply(0.1, GaussianBlur(23)), RandomErasing(0.25)")
//
//   RandomResizedCrop ... ─▶ ImageOptions::transform      ColorJitter ... ─▶ augmentations
//   RandomErasing         ─▶ erasing
//
// Names, parameters, their order and their defaults are those of ffkit's Python package. Values are
// numbers (3/4 too), names in single or double quotes, True, False, None, tuples and lists, and
// range(480, 801, 32).
//
// Thread-safe.

// Reads transforms with commas between them. One step of geometry that is a transform by itself
// becomes the transform; several, and those of a Compose, become a Compose. Augmentations keep
// their order. They and the erasing come after all geometry, wherever they stand. `output` is the
// default. Values are not checked for their ranges: validate() does that.
//
// Throws Error(invalid_argument) that quotes the part of the text that does not fit: for what is
// not written as above, names (with the nearest ones) and parameters that there are not, values of
// another kind, a text without geometry, a second RandomErasing, a ScalePad beside another step,
// and more than 40 brackets in each other.
ImageOptions parse_transforms(std::string_view text);

// What parse_transforms() knows, each with its parameters and their defaults, as Python would show
// it: "Resize(size=(224, 224), interpolation=\"bilinear\", max_size=None)". A parameter without a
// default is a name alone.
std::vector<std::string> transform_signatures();

}  // namespace ffkit
