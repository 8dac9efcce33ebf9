// PlanHash: FNV-1a over numbers and texts, one after the other; each text with its length, so that
// two texts are not taken for another two.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fnv.h"

namespace ffkit {

class PlanHash {
 public:
  void add(uint64_t number) { hash_ = fnv1a64(std::as_bytes(std::span(&number, 1)), hash_); }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    hash_ = fnv1a64(bytes, hash_);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  uint64_t value() const { return hash_; }
  // 16 hex digits.
  std::string digits() const { return fmt::format("{:016x}", hash_); }

 private:
  uint64_t hash_ = kFnvBasis;
};

}  // namespace ffkit
