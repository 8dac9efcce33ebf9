// Masks: pictures whose pixels are numbers (ids of classes or objects), not colours. Nothing blends
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <ffkit/format/schema.h>

namespace ffkit {

// What the numbers of a mask are. A mask is a PNG: in a JPEG or WebP, numbers change.
enum class MaskNumbers : uint8_t {
  // The file's: the indices of a palette (VOC), or grey of 1, 2, 4, 8 or 16 bits as it is stored.
  values,
  // Of colours: red + 256 green + 65536 blue, as COCO's panoptic PNGs have them.
  panoptic,
};

struct MaskOptions {
  DType dtype = DType::u8;  // of the batch: u8, u16, i32 or i64
  MaskNumbers numbers = MaskNumbers::values;
  // Where the view has no picture. It is a number of the batch: `ids` does not change it. Nothing:
  // 255, and 0 of panoptic numbers, where 255 is a segment and 0 none.
  std::optional<int64_t> fill = {};
  // What each number of the file becomes, such as Cityscapes' 34 ids the 19 that are trained on. A
  // number that is missing here makes a bad sample. Empty: numbers stay as they are.
  std::map<int64_t, int64_t> ids = {};
};

// [height, width] numbers of u8, u16 or i32, rows `stride` numbers apart. Does not own them.
struct MaskView {
  const void* data = nullptr;
  DType dtype = DType::u8;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;
};

// Throws Error(invalid_argument) for a dtype that no mask has, and for numbers that it cannot hold.
void validate(const MaskOptions& options);

}  // namespace ffkit
