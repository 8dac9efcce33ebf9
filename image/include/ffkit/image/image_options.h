// ImageOptions: all steps from an encoded picture to its place in the batch.
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

// Whether one of them, also inside an Apply or OneOf, moves pixels: RandAugment, TrivialAugmentWide
// and AutoAugment do.
bool moves_pixels(const std::vector<Augmentation>& augmentations);

// Transforms as text, for command lines, in the form of the Python package and torchvision.
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

// Reads transforms separated by commas. A single geometric step becomes the transform; several
// become a Compose. Augmentations keep their order. They and the erasing come after all geometric
// steps, wherever they are in the text. `output` is the default. validate() checks the ranges of
// values.
//
// Throws Error(invalid_argument) that quotes the wrong part of the text: for wrong syntax, unknown
// names (with the nearest ones) and parameters, values of another kind, a text without geometry, a
// second RandomErasing, a ScalePad beside another step, and more than 40 nested brackets.
ImageOptions parse_transforms(std::string_view text);

// The transforms that parse_transforms() knows, with parameters and defaults, in the form of
// Python: "Resize(size=(224, 224), interpolation=\"bilinear\", max_size=None)". A parameter without
// a default has only its name.
std::vector<std::string> transform_signatures();

}  // namespace ffkit
