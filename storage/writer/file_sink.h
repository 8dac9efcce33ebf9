// FileSink: one file that is written from its beginning to its end, wherever it is.
//
//   a local file   has another name while it is written (`path` + ".tmp"); finish() makes it
//                  durable (fsync, rename, fsync of the folder)
//   an object      is sent in parts while the caller goes on; at most 80 MiB of it are in memory,
//                  and nothing is on a disk. It appears when finish() returns. What a killed
//                  process has sent is in no listing; the bucket's rules for unfinished uploads
//                  remove it
//
// For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "storage/addresses/place.h"

namespace ffkit {

class FileSink {
 public:
  FileSink() = default;
  // Without finish(), nothing stays, and what was at the path is as it was.
  virtual ~FileSink() = default;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  // Appends all of `bytes`. Throws Error(io); of an object also what its upload has met before, and
  // all calls after it throw the same: the file must be made again from its beginning.
  virtual void write(std::span<const std::byte> bytes) = 0;
  // Nothing may be called after it. Throws as write().
  virtual void finish() = 0;
};

// Replaces what is there. `expected_bytes`: about how many there will be, 0 where that is not
// known; an object of more than 160 GB needs it. Throws Error(io); of a store, as ObjectStore does.
std::unique_ptr<FileSink> create_sink(const Place& place, int64_t expected_bytes = 0);

// A whole small file, durable when this returns. Replaces what is there.
void write_text_at(const Place& place, std::string_view text);
// The same, but what is there stays. Returns false where there is a file of other bytes; the same
// bytes count as written. `place` is in a store.
bool write_object_once(const Place& place, std::string_view text);

// Whether there is such a file or object. Throws where that cannot be told.
bool is_file_at(const Place& place);
// No error where there is no such file or object.
void remove_file_at(const Place& place);

// Throws Error(unsupported), with what to do, for an address whose store takes no data sets: a web
// server, the Hugging Face hub. Error(invalid_argument) for one that is none. Local paths pass.
void require_writable(const Place& place);

}  // namespace ffkit
