// BlockMemory: memory for blocks that are underway. What a block has given back serves the next,
// because the kernel clears memory that is new. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace ffkit {

class BlockMemory {
 public:
  // `block_bytes` with what it held; it goes back with the last that holds it, also after this is
  // destroyed.
  explicit BlockMemory(size_t block_bytes) : spare_(std::make_shared<Spare>(block_bytes)) {}

  std::shared_ptr<std::byte[]> take() const {
    std::unique_ptr<std::byte[]> memory = spare_->take();
    auto give_back = [spare = spare_](std::byte* bytes) {
      spare->give_back(std::unique_ptr<std::byte[]>(bytes));
    };
    return {memory.release(), std::move(give_back)};
  }

 private:
  class Spare {
   public:
    explicit Spare(size_t block_bytes) : block_bytes_(block_bytes) {}

    std::unique_ptr<std::byte[]> take() {
      const std::scoped_lock lock(mutex_);
      std::unique_ptr<std::byte[]> memory;
      if (unused_.empty()) {
        memory = std::make_unique_for_overwrite<std::byte[]>(block_bytes_);
      } else {
        memory = std::move(unused_.back());
        unused_.pop_back();
      }
      ++num_taken_;
      return memory;
    }
    // As many are kept as are taken, since these are soon given back, too; and two.
    void give_back(std::unique_ptr<std::byte[]> memory) {
      const std::scoped_lock lock(mutex_);
      --num_taken_;
      unused_.push_back(std::move(memory));
      unused_.resize(std::min(unused_.size(), std::max<size_t>(num_taken_, 2)));
    }

   private:
    const size_t block_bytes_;
    std::mutex mutex_;  // guards what follows
    size_t num_taken_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> unused_;
  };

  const std::shared_ptr<Spare> spare_;
};

}  // namespace ffkit
