// RowTable: the samples of another library's files, as rows of typed values. One subclass a format.
//
//   files ──▶ RowTable: columns, splits, rows ──▶ RowSource (row_source.h): which column is the
//             reader of a format                  picture, the label, ...; a Source as any other
//
// A table lists its rows when it is made, and is immutable from then on: all const functions are
// thread-safe. FileRows (file_rows.h) is the table of formats whose rows are ranges of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

#include "base/make_error.h"
#include "format/content_kind.h"

namespace ffkit {

// Calls `work`; its errors are about the column `name`, or what else `part` says.
template <typename Work>
void in_column(std::string_view name, const Work& work, const char* part = "column") {
  try {
    work();
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    throw error.with_message(fmt::format("{} '{}': {}", part, name, error.message()));
  }
}

// What stands in one column of a row. What it points to lives in the SampleBuffers of the call that
// read the row.
struct RowValue {
  bool is_null = true;
  std::span<const std::byte> bytes;               // of columns of bytes, text and pictures
  uint64_t bits = 0;                              // of columns of scalars, in the low bytes
  TensorView tensor;                              // of columns of tensors, of the column's dtype
  std::vector<std::span<const std::byte>> items;  // of lists of bytes, texts and pictures
  std::vector<TensorView> tensors;                // of lists of tensors

  void set_bytes(std::span<const std::byte> value) {
    is_null = false;
    bytes = value;
  }
  // Of a scalar of dtype_of<T>().
  template <typename T>
  void set_scalar(T value) {
    is_null = false;
    bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
  }
  void set_tensor(TensorView value) {
    is_null = false;
    tensor = std::move(value);
  }
  // Of all that it points to.
  int64_t num_bytes() const {
    int64_t sum = std::ssize(bytes) + std::ssize(tensor.data);
    for (const std::span<const std::byte> item : items) sum += std::ssize(item);
    for (const TensorView& item : tensors) sum += std::ssize(item.data);
    return sum;
  }
};

// A column as the files have it.
struct RowColumn {
  // Its name in the files, and what its values are: type, dtype and item as of a field; `column` is
  // not used.
  Field field;
  // What whole numbers of the column stand for, from 0, where the files say so; else empty.
  std::vector<std::string> class_names = {};
  // The mode of Pillow's that its pictures are given in, as Hugging Face's Image(mode="L") says;
  // empty: as they are stored.
  std::string mode = {};
  // The least of whole numbers, one a row, where all rows have been looked at.
  std::optional<int64_t> least = {};

  bool operator==(const RowColumn&) const = default;
};

// "train/shard.00000.mds: 17": row number `row` of a file, from 0.
inline std::string name_of_row(const std::string& file, int64_t row) {
  return file + ": " + std::to_string(row);
}

class RowTable {
 public:
  virtual ~RowTable() = default;

  // In the order of the files. Every row has a value, or null, for each.
  [[nodiscard]] virtual const std::vector<RowColumn>& columns() const = 0;
  // Training splits first.
  [[nodiscard]] virtual const std::vector<SourceSplit>& splits() const = 0;
  // One sentence each on what was found, guessed and left out.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
  // Whether no row of the split has a value in the column, as far as that is known or soon found.
  [[nodiscard]] virtual bool lacks(size_t /*split*/, size_t /*column*/) const { return false; }
  // "kind", "path", "files" and the like.
  [[nodiscard]] virtual std::map<std::string, std::string> facts(size_t split) const = 0;
  [[nodiscard]] virtual std::vector<std::filesystem::path> roots() const = 0;
  [[nodiscard]] virtual std::vector<SourceInput> inputs(size_t split) const = 0;

  // Bytes of the row in its file.
  [[nodiscard]] virtual int64_t row_bytes(size_t split, int64_t row) const = 0;
  // Where the row is, below the folder that was given: "train/shard.00000.mds: 17". Unique in the
  // split; a row without an id of its own is called so.
  [[nodiscard]] virtual std::string name(size_t split, int64_t row) const = 0;
  // The same with the whole path, for messages.
  [[nodiscard]] virtual std::string describe(size_t split, int64_t row) const = 0;
  virtual void will_read(size_t split, int64_t row) const = 0;
  // As Source::reads_in_order().
  [[nodiscard]] virtual bool reads_in_order() const { return false; }
  // Sets values[i], which are null before, to what column i holds. Throws Error without a path for
  // a row that is damaged, or is not what its column says.
  virtual void read(size_t split, int64_t row, std::span<RowValue> values,
                    SampleBuffers& buffers) const = 0;
};

}  // namespace ffkit
