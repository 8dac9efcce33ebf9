// TensorboardWriter: a TensorBoard event file of scalars.
//
//   file   = record record ...
//   record = u64 length | u32 masked CRC of length | data | u32 masked CRC of data
//            as of TFRecord, little-endian
//   masked CRC = ((c >> 15) | (c << 17)) + 0xa282ead8, c = CRC-32C
//            tensorflow/core/lib/hash/crc32c.h
//   data   = an Event as protobuf, tensorflow/core/util/event.proto and framework/summary.proto:
//            wall_time = 1: double; step = 2: int64; then one of
//            file_version = 3: "brain.Event:2"    the first event of a file
//            session_log = 7 { status = 1: START }    the second: what other files say about this
//                                                     step and later ones is void
//            summary = 5 { value = 1 { tag = 1: string; simple_value = 2: float } ... }
//
// Every event reaches the kernel before the call returns, so that a killed process loses none. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

class File;

struct Scalar {
  std::string_view tag;  // "train/loss"
  double value = 0;      // stored as f32
};

class TensorboardWriter {
 public:
  // Makes a new file events.out.tfevents.<time>.<host>.<process>.<n> in `folder`, which must exist.
  // `first_step` is the first step that may be written. Throws Error(io).
  TensorboardWriter(const std::filesystem::path& folder, int64_t first_step);
  ~TensorboardWriter();
  TensorboardWriter(TensorboardWriter&&) noexcept;
  TensorboardWriter& operator=(TensorboardWriter&&) noexcept;

  // Writes one event with all `scalars`. Throws Error(io).
  void write(int64_t step, const std::vector<Scalar>& scalars);
  const std::filesystem::path& path() const;

 private:
  void append(const std::string& event);

  std::unique_ptr<File> file_;
};

}  // namespace ffkit
