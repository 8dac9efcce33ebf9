// BlockMemory: memory for blocks that are underway. What has been given back serves the next ones,
// because the kernel clears memory that is new: that was 1.1 s of 16.4 s of processor time, over an
// epoch of 1 GB that writes the cache, and 0.2 s from a local disk. Meanwhile the kernel may take
// it, where memory is short. Thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace ffkit {

class BlockMemory {
 public:
  // `block_bytes` each; up to `most_unused` of them are kept when nobody has them.
  BlockMemory(size_t block_bytes, size_t most_unused)
      : spare_(std::make_shared<Spare>(block_bytes, most_unused)) {}

  // `block_bytes` of any content; it goes back with the last that holds it, also after this is
  // destroyed.
  std::shared_ptr<std::byte[]> take() const {
    Memory memory = spare_->take();
    auto give_back = [spare = spare_](std::byte* bytes) { spare->give_back(Memory(bytes)); };
    return {memory.release(), std::move(give_back)};
  }

 private:
  static constexpr size_t kPage = 4096;  // madvise() is told of whole ones

  struct Delete {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kPage}); }
  };
  using Memory = std::unique_ptr<std::byte[], Delete>;

  class Spare {
   public:
    Spare(size_t block_bytes, size_t most_unused)
        : whole_bytes_((block_bytes + kPage - 1) / kPage * kPage), most_unused_(most_unused) {
      unused_.reserve(most_unused);
    }

    Memory take() {
      {
        const std::scoped_lock lock(mutex_);
        if (!unused_.empty()) {
          Memory memory = std::move(unused_.back());
          unused_.pop_back();
          return memory;
        }
      }
      return Memory(
          static_cast<std::byte*>(::operator new (whole_bytes_, std::align_val_t{kPage})));
    }
    void give_back(Memory memory) {
      ::madvise(memory.get(), whole_bytes_, MADV_FREE);
      const std::scoped_lock lock(mutex_);
      if (unused_.size() < most_unused_) unused_.push_back(std::move(memory));
    }

   private:
    const size_t whole_bytes_;
    const size_t most_unused_;
    std::mutex mutex_;  // guards what follows
    std::vector<Memory> unused_;
  };

  const std::shared_ptr<Spare> spare_;
};

}  // namespace ffkit
