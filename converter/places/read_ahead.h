// ReadAhead: ranges of objects that are asked for before they are needed, in memory, until each is
// taken once. Not the cache of the machine: a conversion reads each byte of its source once, so the
// cache's disk would be written and its sets pushed out for nothing.
//
//   announce(a) announce(b) ...   neighbours are joined to requests of about 4 MiB
//   take(a)                       waits for its request, and forgets the range
//
// Objects that have 256 MiB together are fetched as a whole, in pieces of 4 MiB: their records may
// be small, and be wanted in any order.
//
// Thread-safe, one a process. At most 128 MiB of ranges are kept: the oldest are forgotten, and are
// then read when they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/requests/object_facts.h"

namespace ffkit::read_ahead {

// Has the range fetched. What is known of the object, it must still have.
void announce(const std::string& address, int64_t offset, int64_t num_bytes,
              const ObjectFacts& known);

// Has the pieces fetched that hold the range. False: the object is not fetched as a whole.
bool fetch_pieces(const std::string& address, int64_t offset, int64_t num_bytes,
                  const ObjectFacts& known);

// Copies what begins at `offset` to `out`, as far as it was announced in one request, and returns
// how many bytes that were; 0 where nothing was, or what was asked for failed, which a new request
// says better. `version` becomes the store's of what was read.
size_t take(const std::string& address, int64_t offset, std::span<std::byte> out,
            std::string& version);

// Whether more should be announced to keep a store busy. False where nothing of a store was
// announced in this Scope.
bool wants_more();

// Forgets everything at its end, unless another one still is.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace ffkit::read_ahead
