// Reading: the bytes of one file, wherever it is, and what else is asked of a place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/addresses/place.h"

namespace ffkit {

class BlockCache;
class ObjectStore;

// The bytes of one file. All const functions are thread-safe.
class RandomReader {
 public:
  RandomReader() = default;
  virtual ~RandomReader() = default;
  RandomReader(const RandomReader&) = delete;
  RandomReader& operator=(const RandomReader&) = delete;

  virtual const std::filesystem::path& path() const noexcept = 0;
  virtual int64_t size() const = 0;
  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before, Error(io)
  // otherwise; of `record`, unless it is -1.
  virtual void read_at(int64_t offset, std::span<std::byte> out, int64_t record = -1) const = 0;
  // Has these bytes fetched, without waiting. A hint.
  virtual void announce(int64_t offset, int64_t num_bytes) const noexcept = 0;
  // The open local file, for reads by pread(2) and the like; the reader's own. -1: there is none.
  virtual int descriptor() const noexcept = 0;
  // That, or a local file that has these bytes of an object, at the same offset; open while this
  // is. -1: there is none, and read() is for many reads at a time.
  virtual int descriptor_of(int64_t /*offset*/, int64_t /*num_bytes*/) const {
    return descriptor();
  }
  // For who finds these bytes damaged: whether a copy on this machine was, which is dropped. True:
  // read them again.
  virtual bool drop_damaged_copy(int64_t /*offset*/, int64_t /*num_bytes*/) const { return false; }
  // Whether what was announced brings these bytes of an object, which descriptor_of() does not
  // have.
  virtual bool is_coming(int64_t /*offset*/, int64_t /*num_bytes*/) const { return false; }
  // As read_at(), without waiting where the file is not a local one. `done` is called once, in any
  // thread, with null or the Error; `out` and this stay until then.
  using Done = std::function<void(std::exception_ptr)>;
  virtual void read(int64_t offset, std::span<std::byte> out, Done done) const = 0;
};

// What is known of a file before it is opened.
struct KnownFile {
  int64_t num_bytes = -1;  // -1: it is asked for
  // Says what the content is, whatever has its name; empty: what the store says of it counts.
  std::string fingerprint;
  // What the store calls the content that is meant; empty: whatever is there. Any other one is an
  // error.
  std::string version;
};

// Of a local file, or of an object by its address; a child of fork() reads an object anew. Throws
// Error(not_found) or Error(io); of an object whose size is known, the first function that reads
// does.
std::unique_ptr<RandomReader> open_random_reader(const Place& place, const KnownFile& known = {});

// An object in a store, behind the cache of the machine. Both ends of a file are what opening a
// shard reads: where the cache lacks them, they are asked for together when the reader is made, and
// kept. All that is read is of one version of the object.
class ObjectReader : public RandomReader {
 public:
  // What the store calls the content that is read. Empty: that is not known, or cannot be said
  // without waiting.
  virtual std::string version_if_known() const = 0;
};

// `cache` may be null.
std::unique_ptr<ObjectReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 const KnownFile& known,
                                                 std::shared_ptr<BlockCache> cache);

// All of a small file. Throws Error(unsupported) when it has more than `max_bytes`,
// Error(not_found) or Error(io) otherwise.
std::string read_text_at(const Place& place, int64_t max_bytes);

// Whether there is such an object. Also false where a store may not be asked for it, as it says of
// what is not there to a reader who may not list (S3).
bool has_object(const Place& place);

// The names of the files and folders that are directly in a folder of a store, sorted. None where
// the store has no listings (https).
struct NamesIn {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};
NamesIn names_in_folder(const Place& folder);

}  // namespace ffkit
