// An object in memory that is read as one of a store: counted, and failing on request.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "cache/block_reader.h"

namespace ffkit::testing {

inline std::vector<std::byte> random_bytes(int64_t num_bytes, uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(num_bytes));
  std::mt19937_64 random(seed);
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t value = random();
    std::memcpy(&bytes[i], &value, 8);
  }
  return bytes;
}

class MemoryObject {
 public:
  explicit MemoryObject(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  const std::vector<std::byte>& bytes() const { return bytes_; }
  int64_t size() const { return std::ssize(bytes_); }
  int64_t num_fetched() const { return num_fetched_; }
  int64_t num_fetches() const { return num_fetches_; }
  std::exception_ptr error;            // of all that is fetched, unless it is null
  std::chrono::milliseconds delay{0};  // before each answer
  std::latch* gate = nullptr;          // answers come when it is open; null: at once

  BlockReader::Fetch fetch() {
    return [this](int64_t offset, std::span<std::byte> into, BlockReader::Done done) {
      num_fetched_ += std::ssize(into);
      ++num_fetches_;
      std::this_thread::sleep_for(delay);
      if (gate != nullptr) gate->wait();
      if (error == nullptr) std::memcpy(into.data(), bytes_.data() + offset, into.size());
      done(error);
    };
  }

 private:
  std::vector<std::byte> bytes_;
  std::atomic<int64_t> num_fetched_{0};
  std::atomic<int64_t> num_fetches_{0};
};

// Waits.
inline std::vector<std::byte> read_of(BlockReader& reader, int64_t offset, int64_t num_bytes) {
  std::vector<std::byte> out(static_cast<size_t>(num_bytes));
  std::promise<std::exception_ptr> answer;
  reader.read(offset, out, [&](std::exception_ptr error) { answer.set_value(std::move(error)); });
  if (std::exception_ptr error = answer.get_future().get()) std::rethrow_exception(error);
  return out;
}

}  // namespace ffkit::testing
