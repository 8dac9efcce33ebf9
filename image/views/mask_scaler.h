// MaskScaler: one view of a mask: the nearest number, as moves say where. As torchvision does it
// for masks: pixel i of n comes from pixel floor(i * m / n) of m, computed in f32.
//
// Keeps its memory between masks. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/image/image_info.h>
#include <ffkit/image/mask.h>

namespace ffkit {

struct CropPlan;
struct Move;

class MaskScaler {
 public:
  // The options must have passed validate().
  explicit MaskScaler(const MaskOptions& options);

  // Writes [size.height, size.width] numbers of the options' dtype. `mask` must have the size of
  // the plan's picture. Throws Error(corrupt) for numbers without a new one, or which the dtype
  // cannot hold, where the view has them.
  void run(const MaskView& mask, const CropPlan& plan, ImageSize size, void* out);
  // The same for all moves, one after the other.
  void run(const MaskView& mask, const std::vector<Move>& moves, void* out);

 private:
  template <typename From, typename To>
  void write(const MaskView& mask, const CropPlan& plan, ImageSize size, bool renumbers, To* out);
  template <typename To>
  void move_canvas(const void* from, ImageSize from_size, const Move& move, To* out);
  int64_t renumbered(int64_t number) const;

  MaskOptions options_;
  std::vector<int64_t> table_;  // of numbers up to 65535; kNone: none. Empty: all stay
  std::vector<int> columns_;    // of the mask, by column of the view; -1: fill
  std::array<std::vector<std::byte>, 2> canvases_;
};

}  // namespace ffkit
