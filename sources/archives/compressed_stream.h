// CompressedStream: what a file of gzip, zstd, bzip2 or xz data holds, front to back, in bounded
// memory. Not thread-safe.
//
// Several members or frames behind each other are one stream, as bgzip, pigz and `cat` write them.
// zstd's long windows are taken up to 2 GiB, its largest; the memory for one is used only as far as
// the text before it is long.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"
#include "format/content_kind.h"

namespace ffkit {

class CompressedStream {
 public:
  static constexpr int kLargestWindowLog = 31;  // zstd's own limit: `zstd --long=31`

  // `file` must outlive this. Throws Error(unsupported) for a `kind` that is none of the four.
  // Longer windows of zstd than 2^largest_window_log bytes are Error(corrupt).
  CompressedStream(const InputFile& file, ContentKind kind,
                   int largest_window_log = kLargestWindowLog);
  // The same of a stream that is a range of `file`, within its end.
  CompressedStream(const InputFile& file, FileRange range, ContentKind kind,
                   int largest_window_log = kLargestWindowLog);
  ~CompressedStream();
  CompressedStream(const CompressedStream&) = delete;
  CompressedStream& operator=(const CompressedStream&) = delete;

  // Whether files of this kind can be read.
  static bool takes(ContentKind kind);

  // Fills `out` from the front and returns how much there was: less than out.size() only at the
  // end. Throws Error(corrupt) for data that are damaged or cut short, or that something else
  // stands behind.
  size_t read(std::span<std::byte> out);

  class Decoder;

 private:
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace ffkit
