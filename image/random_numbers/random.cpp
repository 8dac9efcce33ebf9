#include <ffkit/image/random.h>

namespace ffkit {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

CounterRandom::CounterRandom(const SampleKey& key, uint8_t stream)
    : key_{static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)},
      counter_{uint32_t{stream} << 24, static_cast<uint32_t>(key.epoch),
               static_cast<uint32_t>(key.record_index),
               static_cast<uint32_t>(static_cast<uint64_t>(key.record_index) >> 32)} {}

uint64_t CounterRandom::next() {
  if (has_second_half_) {
    has_second_half_ = false;
    return block_[2] | uint64_t{block_[3]} << 32;
  }
  block_ = philox4x32(counter_, key_);
  ++counter_[0];
  has_second_half_ = true;
  return block_[0] | uint64_t{block_[1]} << 32;
}

double CounterRandom::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

int64_t CounterRandom::below(int64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(next()) * static_cast<uint64_t>(n) >> 64);
}

}  // namespace ffkit
