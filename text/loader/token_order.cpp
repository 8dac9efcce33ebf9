#include "token_order.h"

#include <algorithm>
#include <utility>

#include "base/mix64.h"

namespace ffkit::text {
namespace {

// What a key is for.
constexpr uint64_t kBlocks = 0x626C6F636B73;
constexpr uint64_t kDocuments = 0x646F6373;
constexpr uint64_t kSamples = 0x73616D706C6573;

}  // namespace

TokenOrder::TokenOrder(std::vector<int64_t> units, int64_t samples, int64_t stride,
                       int64_t window_samples, bool shuffle, uint64_t seed)
    : units_(std::move(units)),
      num_samples_(samples),
      stride_(stride),
      window_samples_(std::min(window_samples, samples)),
      shuffle_(shuffle),
      seed_(seed),
      blocks_(std::ssize(units_), 0),
      begins_(units_.size() + 1) {
  start_epoch(0);
}

void TokenOrder::start_epoch(int64_t epoch) {
  epoch_key_ = mix64(seed_, static_cast<uint64_t>(epoch));
  blocks_ = Permutation(std::ssize(units_), mix64(epoch_key_, kBlocks));
  for (int64_t place = 0; place < num_places(); ++place) {
    const auto at = static_cast<size_t>(place);
    begins_[at + 1] = begins_[at] + units_[block(place)];
  }
}

int64_t TokenOrder::sample(int64_t position) const {
  if (!shuffle_) return position;
  const int64_t window = position / window_samples_;
  const int64_t first = window * window_samples_;
  const int64_t size = std::min(window_samples_, num_samples_ - first);
  const uint64_t key = mix64(mix64(epoch_key_, kSamples), static_cast<uint64_t>(window));
  return first + Permutation(size, key)(position - first);
}

int64_t TokenOrder::place_of(int64_t unit) const {
  // Behind blocks without units, which begin where the next one does.
  return std::ranges::upper_bound(begins_, unit) - begins_.begin() - 1;
}

uint64_t TokenOrder::document_key(int64_t block) const {
  return mix64(mix64(epoch_key_, kDocuments), static_cast<uint64_t>(block));
}

}  // namespace ffkit::text
