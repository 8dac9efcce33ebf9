// Masks: pictures whose pixels are numbers (ids of classes or objects), not colours. Nothing blends
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// Form of the numbers in a mask. A mask is a PNG, because JPEG and WebP change numbers.
enum class MaskNumbers : uint8_t {
  // The values of the file: indices of a palette (VOC), or grey of 1, 2, 4, 8 or 16 bits.
  values,
  // From colours: red + 256 green + 65536 blue, as in COCO's panoptic PNGs.
  panoptic,
};
template <>
inline constexpr auto kNames<MaskNumbers> = enum_names<MaskNumbers>(
    "numbers", {{MaskNumbers::values, "values"}, {MaskNumbers::panoptic, "panoptic"}});

struct MaskOptions {
  DType dtype = DType::u8;  // of the batch: u8, u16, i32 or i64
  MaskNumbers numbers = MaskNumbers::values;
  // The value where the view has no picture; `ids` does not change it. Nothing: 255, or 0 (no
  // segment) for panoptic numbers.
  std::optional<int64_t> fill = {};
  // The new number of each number in the file, for example the 19 training ids for Cityscapes' 34
  // ids. A missing number makes a bad sample. Empty: numbers stay.
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

// Throws Error(invalid_argument) for a dtype that masks cannot have, and for numbers that it cannot
// hold.
void validate(const MaskOptions& options);

}  // namespace ffkit
