// StoredBoxes: the boxes of a keyframe's record, and which of them BoxOptions keeps. Points into
// the record. Immutable, so thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

class StoredBoxes {
 public:
  using Numbers = std::array<float, 9>;

  // The fields boxes/class, boxes/valid and boxes/lidar of one record; without the last one there
  // are no numbers(). Throws Error(corrupt) unless they are of the same boxes.
  StoredBoxes(const FieldView& classes, const FieldView& valid,
              const std::optional<FieldView>& boxes);

  int64_t size() const { return count_; }
  int64_t class_number(int64_t i) const;
  Numbers numbers(int64_t i) const;  // as they are stored
  // Whether class and points let the box pass; its centre is a matter of is_in_range().
  bool passes(int64_t i, const BoxOptions& options) const;

 private:
  TensorView classes_;
  TensorView valid_;
  TensorView boxes_;
  int64_t count_;
};

// Whether the centre of `box` is where options.range says.
bool is_in_range(const StoredBoxes::Numbers& box, const BoxOptions& options);

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const BoxOptions& options);

}  // namespace ffkit::nuscenes
