// What the steps of a Compose draw: the parameters that torchvision's transforms draw, from the
// same distributions.
#pragma once

#include <optional>
#include <span>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/random.h>

#include "moves/moves.h"
#include "pixels/warp.h"

namespace ffkit {

// The sizes of pictures of width x height pixels after a resize, at least 1.
ImageSize draw_size(const ScaleJitter& jitter, int width, int height, CounterRandom& random);
ImageSize draw_size(const RandomShortestSize& shortest, int width, int height,
                    CounterRandom& random);

ImageSize size_by_short_side(const ResizeShortSide& resize, int width, int height);

// The corner of the crop. What is smaller than it begins at 0.
std::array<int, 2> draw_corner(const FixedSizeCrop& crop, int width, int height,
                               CounterRandom& random);

// Where the canvas begins and how large it is; nothing: the picture stays.
std::optional<Rect> draw_canvas(const RandomZoomOut& zoom, int width, int height,
                                CounterRandom& random);

// Nothing: the picture stays.
std::optional<Rect> draw_crop(const RandomIoUCrop& crop, int width, int height,
                              std::span<const BoxEdges> boxes, CounterRandom& random);

Rotation draw_rotation(const RandomRotation& rotation, int width, int height,
                       CounterRandom& random);
// Matrices from the new canvas to the old one, of one size, as Pillow takes them.
ViewMatrix draw_source(const RandomAffine& affine, int width, int height, CounterRandom& random);
// Nothing: the picture stays.
std::optional<ViewMatrix> draw_source(const RandomPerspective& perspective, int width, int height,
                                      CounterRandom& random);

}  // namespace ffkit
