#include <fmt/format.h>

#include <algorithm>

#include <ffkit/format/error.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/loader/sampler.h>

#include "mix64.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace

Sampler::Sampler(int64_t num_records, int64_t batch_size, SamplerOptions options)
    : num_records_(num_records), batch_size_(batch_size), options_(options) {
  if (num_records < 1)
    refuse(fmt::format("a sampler needs at least one record, got {}", num_records));
  if (batch_size < 1) refuse(fmt::format("batch_size is {}, must be at least 1", batch_size));
  if (options.world_size < 1) {
    refuse(fmt::format("world_size is {}, must be at least 1", options.world_size));
  }
  if (options.rank < 0 || options.rank >= options.world_size) {
    refuse(fmt::format("rank is {}, must be 0 .. world_size-1 = {}", options.rank,
                       options.world_size - 1));
  }
}

int64_t Sampler::num_batches(int64_t start) const {
  const int64_t step_size = batch_size_ * options_.world_size;
  const int64_t left = std::max<int64_t>(num_records_ - start, 0);
  return options_.tail == Tail::drop ? left / step_size : (left + step_size - 1) / step_size;
}

void Sampler::batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const {
  const int64_t first = start + (step * options_.world_size + options_.rank) * batch_size_;
  int64_t count = batch_size_;
  if (options_.tail == Tail::exact) {
    count = std::clamp<int64_t>(num_records_ - first, 0, batch_size_);
  }
  const Permutation permutation(num_records_, mix64(options_.seed, static_cast<uint64_t>(epoch)));
  out.clear();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = (first + i) % num_records_;
    out.push_back(options_.order == Order::shuffle ? permutation(position) : position);
  }
}

int64_t Sampler::position_after(int64_t start, int64_t num_steps) const {
  return std::min(num_records_, start + num_steps * batch_size_ * options_.world_size);
}

}  // namespace ffkit
