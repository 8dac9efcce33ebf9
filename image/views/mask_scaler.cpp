#include "views/mask_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "base/make_error.h"
#include "moves/moves.h"
#include "pixels/pixel_ops.h"

namespace ffkit {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
constexpr int64_t kTableSize = 65536;

// Which numbers a mask's dtype holds.
std::pair<int64_t, int64_t> limits_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return {0, 255};
    case DType::u16:
      return {0, 65535};
    case DType::i32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

bool holds(DType dtype, int64_t number) {
  const auto [min, max] = limits_of(dtype);
  return number >= min && number <= max;
}

// Where pixel `i` of what is taken comes from, in the box.
int nearest(int i, int box, int resized) {
  if (box == resized) return i;
  const float scale = static_cast<float>(box) / static_cast<float>(resized);
  return std::min(static_cast<int>(std::floor(static_cast<float>(i) * scale)), box - 1);
}

int64_t fill_of(const MaskOptions& options) {
  return options.fill.value_or(options.numbers == MaskNumbers::panoptic ? 0 : 255);
}

}  // namespace

void validate(const MaskOptions& options) {
  const DType dtype = options.dtype;
  if (dtype != DType::u8 && dtype != DType::u16 && dtype != DType::i32 && dtype != DType::i64) {
    throw error_of(ErrorCode::invalid_argument,
                   "the mask's dtype is {}; expected u8, u16, i32 or i64", to_string(dtype));
  }
  const auto check = [&](const char* what, int64_t number) {
    if (holds(dtype, number)) return;
    throw error_of(ErrorCode::invalid_argument,
                   "the {} of the mask is {}, which does not fit the dtype {}; give another dtype",
                   what, number, to_string(dtype));
  };
  check("fill", fill_of(options));
  for (const auto& [number, id] : options.ids) check("new id", id);
}

MaskScaler::MaskScaler(const MaskOptions& options) : options_(options) {
  if (options.ids.empty()) return;
  table_.assign(kTableSize, kNone);
  for (const auto& [number, id] : options.ids) {
    if (number >= 0 && number < kTableSize) table_[static_cast<size_t>(number)] = id;
  }
}

// What `number` of the file is in the batch.
int64_t MaskScaler::renumbered(int64_t number) const {
  int64_t id = number;
  if (number >= 0 && number < std::ssize(table_)) {
    id = table_[static_cast<size_t>(number)];
  } else if (!table_.empty()) {
    const auto found = options_.ids.find(number);
    id = found == options_.ids.end() ? kNone : found->second;
  }
  if (id == kNone) {
    throw error_of(ErrorCode::corrupt,
                   "the mask has the id {}, but `ids` does not contain it; add it to `ids`",
                   number);
  }
  if (!holds(options_.dtype, id)) {
    throw error_of(
        ErrorCode::corrupt,
        "the mask has the id {}, but the dtype {} cannot store it; give the mask another dtype", id,
        to_string(options_.dtype));
  }
  return id;
}

template <typename From, typename To>
void MaskScaler::write(const MaskView& mask, const CropPlan& plan, ImageSize size, bool renumbers,
                       To* out) {
  const Rect& taken = plan.taken;
  columns_.assign(static_cast<size_t>(size.width), -1);
  for (int i = 0; i < taken.width; ++i) {
    const int from = plan.flip ? taken.width - 1 - i : i;
    columns_[plan.x + i] = plan.box.x + nearest(taken.x + from, plan.box.width, plan.resized_width);
  }
  const To fill = static_cast<To>(fill_of(options_));
  const bool is_copied = !renumbers || (table_.empty() && sizeof(From) <= sizeof(To));
  int last_row = -1;            // of the mask, that the row before has
  int64_t last_number = kNone;  // as no From is
  To last_id = fill;
  for (int64_t y = 0; y < size.height; ++y, out += size.width) {
    const int64_t i = y - plan.y;
    if (i < 0 || i >= taken.height) {
      std::fill_n(out, size.width, fill);
      last_row = -1;
      continue;
    }
    const int row =
        plan.box.y + nearest(taken.y + static_cast<int>(i), plan.box.height, plan.resized_height);
    if (row == last_row) {
      std::copy_n(out - size.width, size.width, out);
      continue;
    }
    last_row = row;
    const From* from = static_cast<const From*>(mask.data) + row * mask.stride;
    for (int64_t x = 0; x < size.width; ++x) {
      const int column = columns_[static_cast<size_t>(x)];
      if (column < 0) {
        out[x] = fill;
      } else if (is_copied) {
        out[x] = static_cast<To>(from[column]);
      } else if (from[column] != last_number) {
        last_number = from[column];
        last_id = static_cast<To>(renumbered(last_number));
        out[x] = last_id;
      } else {
        out[x] = last_id;
      }
    }
  }
}

// The numbers of a canvas are those of the batch already.
template <typename To>
void MaskScaler::move_canvas(const void* from, ImageSize from_size, const Move& move, To* out) {
  const auto width = static_cast<int>(from_size.width);
  const auto height = static_cast<int>(from_size.height);
  const To* numbers = static_cast<const To*>(from);
  if (const auto* plan = std::get_if<CropPlan>(&move.what)) {
    const MaskView canvas{.data = from, .width = width, .height = height, .stride = width};
    return write<To>(canvas, *plan, move.size, false, out);
  }
  if (const auto* warp = std::get_if<Warp>(&move.what)) {
    const To fill = static_cast<To>(fill_of(options_));
    return for_nearest(move.size, width, height, warp->source, [&](size_t i, int x, int y) {
      out[i] = x < 0 ? fill : numbers[ptrdiff_t{y} * width + x];
    });
  }
  for (int y = height - 1; y >= 0; --y) {
    out = std::copy_n(numbers + ptrdiff_t{y} * width, width, out);
  }
}

namespace {

// Calls work(place of the numbers) with the type of a dtype that masks have.
template <typename Work>
void with_numbers(DType dtype, void* out, const Work& work) {
  switch (dtype) {
    case DType::u8:
      return work(static_cast<uint8_t*>(out));
    case DType::u16:
      return work(static_cast<uint16_t*>(out));
    case DType::i32:
      return work(static_cast<int32_t*>(out));
    default:
      return work(static_cast<int64_t*>(out));
  }
}

}  // namespace

void MaskScaler::run(const MaskView& mask, const CropPlan& plan, ImageSize size, void* out) {
  with_numbers(options_.dtype, out, [&](auto* to) {
    if (mask.dtype == DType::u8) return write<uint8_t>(mask, plan, size, true, to);
    if (mask.dtype == DType::u16) return write<uint16_t>(mask, plan, size, true, to);
    write<int32_t>(mask, plan, size, true, to);
  });
}

void MaskScaler::run(const MaskView& mask, const std::vector<Move>& moves, void* out) {
  const void* canvas = nullptr;
  for (size_t i = 0; i < moves.size(); ++i) {
    const ImageSize size = moves[i].size;
    void* to = out;
    if (i + 1 < moves.size()) {
      auto& bytes = canvases_[i % 2];
      bytes.resize(static_cast<size_t>(size.height * size.width) * size_of(options_.dtype));
      to = bytes.data();
    }
    if (i == 0) {
      run(mask, std::get<CropPlan>(moves.front().what), size, to);
    } else {
      with_numbers(options_.dtype, to, [&](auto* numbers) {
        move_canvas(canvas, moves[i - 1].size, moves[i], numbers);
      });
    }
    canvas = to;
  }
}

}  // namespace ffkit
