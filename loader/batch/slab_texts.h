// SlabTexts: the texts of one field of a batch, beside its slab, which has no room for what may be
// of any length.
//
//   decoding threads, in any order    add()    | text 2 | text 0 | text 1 |
//   who finishes the batch            join()   | text 0 | text 1 | text 2 |
//
// Its memory grows to what the largest batch needs, and stays. add() is thread-safe; the other
// functions are the loader's when no thread adds, and then the batch's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "batch/slab_layout.h"

namespace ffkit {

class SlabTexts {
 public:
  SlabTexts();

  // Drops what is there. add() then takes the samples 0 .. num_samples-1.
  void begin(int64_t num_samples);
  // The text of a sample; takes the place of what was added for it before. Throws std::bad_alloc.
  void add(int64_t index_in_batch, std::string_view text);
  // Puts them behind each other: that of sample i goes to offsets[i] .. offsets[i + 1]. Allocates
  // nothing.
  void join(std::span<const int64_t> offsets);
  // The same texts as `other`, which is joined. Throws std::bad_alloc.
  void copy_joined(const SlabTexts& other, size_t num_bytes);

  // The joined texts; never null.
  std::byte* data() const { return joined_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kSlabAlignment});
    }
  };
  void make_room_to_join(size_t num_bytes);

  std::mutex mutex_;  // guards added_ and begins_ while threads add
  std::vector<char> added_;
  std::vector<size_t> begins_;  // in added_, by sample
  std::unique_ptr<std::byte, Delete> joined_;
  size_t joined_capacity_ = 0;
};

}  // namespace ffkit
