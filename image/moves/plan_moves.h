// plan_moves(): what a transform does to the picture of a sample.
#pragma once

#include <array>
#include <span>

#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>
#include <ffkit/image/view_geometry.h>

#include "moves/move.h"

namespace ffkit {

// Of a picture of width x height pixels in the sample with this key, whose boxes RandomIoUCrop
// takes. `moves` keeps its memory. Throws Error(unsupported) as plan_crop() does, and where a
// canvas would have more than 32768 pixels on a side.
void plan_moves(const ImageTransform& transform, int width, int height, const SampleKey& key,
                std::span<const BoxEdges> boxes, Moves& moves);

// A box or point of one canvas on the next one, or a picture's in a view, where it may reach beyond
// the edges. The upright box around what the box has become.
std::array<double, 2> map_point(const ViewMatrix& matrix, double x, double y);
BoxEdges map_box(const ViewMatrix& matrix, const BoxEdges& box);
BoxEdges clipped(const BoxEdges& box, ImageSize size);
double area_of(const BoxEdges& box);
bool is_centre_within(const BoxEdges& box, const BoxEdges& area);

}  // namespace ffkit
