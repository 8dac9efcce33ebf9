// FieldColumn: one field of a split's records, one record after another, without the rest of them.
// Not thread-safe; `split` must outlive it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

#include "base/make_error.h"

namespace ffkit::nuscenes {

class FieldColumn {
 public:
  FieldColumn(const Dataset& split, const std::string& name) : split_(split) {
    const int at = split.schema().index_of(name);
    if (at < 0) {
      throw dataset_error(split.path(), ErrorCode::invalid_argument,
                          "has no field '{}'; give a split that ffconvert nuscenes made", name);
    }
    field_ = static_cast<size_t>(at);
  }

  // Lives until the next call.
  FieldView read(int64_t record) {
    const bool has_value = split_.read_field(record, field_, bytes_);
    return {split_.schema().fields[field_], bytes_, !has_value, split_.name(record)};
  }

  // A tensor's numbers, `columns` for each of `rows` (any number when it is negative).
  template <typename T>
  std::vector<T> numbers(int64_t record, int64_t rows, int64_t columns) {
    const TensorView tensor = read(record).tensor();
    const int64_t count = static_cast<int64_t>(tensor.data.size() / size_of(tensor.dtype));
    if (tensor.dtype != dtype_of<T>() || count % columns != 0 ||
        (rows >= 0 && count != rows * columns)) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("field '{}' has {} numbers of {}; expected {} for each box",
                      split_.schema().fields[field_].name, count, to_string(tensor.dtype), columns),
          {.path = split_.path().string(), .record = record});
    }
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }

 private:
  const Dataset& split_;
  size_t field_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace ffkit::nuscenes
