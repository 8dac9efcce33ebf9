// ShardFile: what ShardReader needs of a file, whichever version of the format it is in. Implementations are immutable once made, and
// all functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>

#include "file.h"

namespace ffkit {

class ShardFile {
 public:
  virtual ~ShardFile() = default;

  virtual const File& file() const = 0;
  virtual const Schema& schema() const = 0;
  virtual ShardFacts facts() const = 0;

  // `record` is in range. The location is checked: it lies within the file, and its lengths are within bounds.
  virtual RecordLocation locate(int64_t record) const = 0;
  // RecordUnpacker::unpack without the checksum.
  virtual std::span<const std::byte> unpack(int64_t record, const RecordLocation& where,
                                            std::span<const std::byte> stored,
                                            RecordUnpacker::Buffers& buffers) const = 0;
  // One number of the field's dtype a record, for a scalar field with column: true.
  virtual std::vector<std::byte> scalar_column(size_t field) const = 0;
  virtual std::vector<std::string> string_column(size_t field) const = 0;
  // Everything but the records.
  virtual std::vector<ShardProblem> verify_index() const = 0;
};

std::unique_ptr<ShardFile> open_v2_file(File file, const ShardReaderOptions& options);

}  // namespace ffkit
