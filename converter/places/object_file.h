// ObjectFile: an object of a store as a file of a source, read at any offset from many threads, by
// ranges, all of one version. Thread-safe.
//
// Reads that follow one another are fetched ahead; other ranges where they are announced. Small
// ranges of an object that is too large for memory are read through the cache of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "converter/places/place.h"
#include "storage/reader/random_reader.h"
#include "storage/stores/object_store.h"

namespace ffkit {

class ObjectFile {
 public:
  // Asks the store for the length and the version. Throws Error(not_found) where there is no such
  // object.
  explicit ObjectFile(const std::filesystem::path& address);
  // As it was listed, without asking: the first range tells whether it still is.
  ObjectFile(const std::filesystem::path& address, const PlacedObject& listed);

  const PlacedObject& listed() const { return listed_; }
  // Throws Error(not_found) when it is another object than was listed, what the store says
  // otherwise.
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Has the range fetched, without waiting for it.
  void announce(int64_t offset, int64_t num_bytes) const;

 private:
  std::string known_version() const;
  void require_version(const std::string& found) const;
  void read_of_store(int64_t offset, std::span<std::byte> out) const;
  void announce_what_follows(int64_t offset, int64_t num_bytes) const;
  // What reads small ranges, or null.
  const RandomReader* cached_for(int64_t num_bytes) const;
  [[noreturn]] void throw_changed(const std::string& how) const;

  const std::string address_;
  const std::shared_ptr<ObjectStore> store_;
  PlacedObject listed_;
  mutable std::mutex mutex_;     // guards what follows
  mutable std::string version_;  // as the store writes it; empty: not known yet, or it has none
  mutable int64_t next_ = 0;     // where the last read ended
  mutable int num_in_row_ = 0;   // reads that followed one another
  mutable int64_t announced_end_ = 0;
  mutable int64_t num_scattered_ = 0;  // ranges that stand alone
  mutable int64_t num_small_ = 0;      // of them
  mutable std::unique_ptr<RandomReader> cached_;
};

// Has a range of an object fetched that is read soon; nothing for a file of a disk, which the
// kernel reads ahead. A hint: what fails is said by the read.
void announce_range(const std::filesystem::path& path, int64_t offset, int64_t num_bytes) noexcept;

}  // namespace ffkit
