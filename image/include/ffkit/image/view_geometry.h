// ViewMatrix: where the pixels of a picture go in a view of it.
#pragma once

#include <array>

namespace ffkit {

// 3 x 3, row by row. A point (x, y) of the picture, as it is stored, becomes (u / w, v / w) of the
// view, where (u, v, w) = matrix * (x, y, 1). Both count in pixels from the edge of the first one:
// the centre of the first pixel is (0.5, 0.5). Points outside of the view are mapped, too.
using ViewMatrix = std::array<double, 9>;

// Left, top, right, bottom in pixels, which count as those of a ViewMatrix.
using BoxEdges = std::array<double, 4>;

}  // namespace ffkit
