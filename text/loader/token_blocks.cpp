#include "token_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/loader/permutation.h>

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
  set_epoch(0);
}

void TokenOrder::set_epoch(int64_t epoch) {
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

namespace {

int64_t bytes_of_block(const OpenBlocks::Block& block) {
  return static_cast<int64_t>(block.tokens.size() + block.ends.size() * sizeof(uint32_t));
}

template <typename T>
T largest_of(const void* tokens, int64_t count) {
  const auto* ids = static_cast<const T*>(tokens);
  T largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = ids[i] > largest ? ids[i] : largest;
  return largest;
}

}  // namespace

OpenBlocks::OpenBlocks(Dataset dataset, const TokenFacts& facts, int64_t max_bytes)
    : dataset_(std::move(dataset)),
      dtype_(dataset_.schema().fields[dataset_.schema().require(kTokensField)].dtype),
      vocabulary_size_(facts.vocabulary_size),
      max_bytes_(max_bytes) {}

const OpenBlocks::Block& OpenBlocks::at(const TokenOrder& order, int64_t place) {
  if (const auto known = by_place_.find(place); known != by_place_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    return recent_.front().block;
  }
  recent_.push_front({place, read(order, order.block(place))});
  by_place_[place] = recent_.begin();
  num_bytes_ += bytes_of_block(recent_.front().block);
  while (num_bytes_ > max_bytes_ && recent_.size() > 2) {
    num_bytes_ -= bytes_of_block(recent_.back().block);
    by_place_.erase(recent_.back().place);
    recent_.pop_back();
  }
  return recent_.front().block;
}

void OpenBlocks::clear() {
  recent_.clear();
  by_place_.clear();
  num_bytes_ = 0;
}

OpenBlocks::Block OpenBlocks::read(const TokenOrder& order, int64_t block) {
  dataset_.read(block, record_);
  const Schema& schema = dataset_.schema();
  const RecordName name = dataset_.name(block);
  const ErrorContext place{.path = name.file->string(), .record = name.record};
  const RecordView view(schema, record_, name);
  const TokenBlock stored = [&] {
    try {
      return TokenBlock(view, schema);
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw error.within(place);
    }
  }();
  const auto count = view.scalar<int64_t>(schema.require(kNumTokensField));
  if (count != stored.num_tokens() ||
      view.scalar<int64_t>(schema.require(kNumDocumentsField)) != stored.num_documents()) {
    throw Error(ErrorCode::corrupt, "its columns give wrong numbers of tokens or documents", place);
  }
  const int64_t largest = dtype_ == DType::u16 ? largest_of<uint16_t>(stored.tokens(), count)
                                               : largest_of<uint32_t>(stored.tokens(), count);
  if (count > 0 && largest >= vocabulary_size_) {
    throw Error(ErrorCode::corrupt,
                fmt::format("the record contains the token {}, but the vocabulary has only {} "
                            "tokens; convert the data set again",
                            largest, vocabulary_size_),
                place);
  }
  const size_t size = size_of(dtype_);
  Block result;
  result.tokens.resize(static_cast<size_t>(count) * size);
  result.ends.reserve(stored.num_documents());
  if (count == 0) return result;
  const Permutation documents(stored.num_documents(), order.document_key(block));
  const auto* from = static_cast<const std::byte*>(stored.tokens());
  std::byte* to = result.tokens.data();
  uint32_t end = 0;
  for (int64_t i = 0; i < stored.num_documents(); ++i) {
    const int64_t d = order.is_shuffled() ? documents(i) : i;
    const auto length = static_cast<size_t>(stored.end(d) - stored.begin(d));
    std::memcpy(to, from + static_cast<size_t>(stored.begin(d)) * size, length * size);
    to += length * size;
    end += static_cast<uint32_t>(length);
    result.ends.push_back(end);
  }
  return result;
}

}  // namespace ffkit::text
