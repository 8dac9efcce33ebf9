// SampleListing: what a source has listed of a split, as a few hashes. Whoever lists the same data
// with the same options gets the same ones, on any machine and below any folder, but for times of
// modification.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>

#include "base/fnv.h"

namespace ffkit {

// FNV-1a over numbers and texts, one after the other; each text with its length, so that two texts
// are not taken for another two.
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

struct SampleListing {
  // Of all samples in record order, 16 hex digits each.
  std::string names;
  std::string sizes;
  std::string contents;
  std::string times;  // of modification
  // Of the same samples in whatever order, without times: "320 0123456789abcdef", their number and
  // the sum of a hash of each. Empty where the source knows no sizes, since names alone are often
  // the same for other data.
  std::string samples;
  // Files beside the samples' own.
  std::vector<SourceInput> inputs;
};

// Asks the source for the identity of each sample, once: for a million files that is a million
// texts.
SampleListing list_samples(const Source& source, size_t split, std::span<const int64_t> order);

// SampleListing::samples of two sets of samples together; an empty one adds nothing.
std::string joined_samples(const std::string& a, const std::string& b);

}  // namespace ffkit
