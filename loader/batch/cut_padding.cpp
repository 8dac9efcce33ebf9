#include "batch/cut_padding.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace ffkit {
namespace {

int64_t product_of(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// What the largest height, and the largest width, of the pictures need. Sizes of samples that could
// not be had are any numbers.
ImageSize largest_of(const SlabLayout& layout, const BatchSlab& slab, const PaddedView& view) {
  const SlabField& field = layout.fields[view.sizes];
  const auto* sizes = reinterpret_cast<const int64_t*>(slab.memory + field.offset);
  ImageSize largest = {1, 1};
  for (int64_t i = 0; i < slab.size * product_of(field.shape); i += 2) {
    largest.height = std::max(largest.height, std::min(sizes[i], view.canvas.height));
    largest.width = std::max(largest.width, std::min(sizes[i + 1], view.canvas.width));
  }
  const auto rounded = [&](int64_t side, int64_t all) {
    return std::min((side + view.multiple - 1) / view.multiple * view.multiple, all);
  };
  return {rounded(largest.height, view.canvas.height), rounded(largest.width, view.canvas.width)};
}

// Planes of `from` become planes of `to`, each of them at or before its old place.
void move_planes(std::byte* memory, int64_t num_planes, ImageSize from, ImageSize to,
                 size_t pixel_bytes) {
  const size_t row_bytes = static_cast<size_t>(to.width) * pixel_bytes;
  std::byte* out = memory;
  for (int64_t plane = 0; plane < num_planes; ++plane) {
    for (int64_t y = 0; y < to.height; ++y, out += row_bytes) {
      const auto at = static_cast<size_t>((plane * from.height + y) * from.width);
      std::memmove(out, memory + at * pixel_bytes, row_bytes);
    }
  }
}

}  // namespace

void cut_padding(const SlabLayout& layout, BatchSlab& slab) {
  for (const PaddedView& view : layout.padded) {
    const ImageSize size = largest_of(layout, slab, view);
    for (const auto& [f, axis] : view.arrays) {
      const SlabField& field = layout.fields[f];
      const std::span<const int64_t> shape = field.shape;
      const size_t pixel_bytes =
          size_of(field.dtype) * static_cast<size_t>(product_of(shape.subspan(axis + 2)));
      const int64_t num_samples = field.is_ragged ? slab.row_offsets[f].back() : slab.size;
      move_planes(slab.memory + field.offset, num_samples * product_of(shape.first(axis)),
                  view.canvas, size, pixel_bytes);
      slab.shapes[f][1 + axis] = size.height;
      slab.shapes[f][2 + axis] = size.width;
    }
  }
}

}  // namespace ffkit
