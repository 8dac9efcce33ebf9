#include "tasks/gpt2/network/random_section.h"

#include <ATen/Context.h>

#include <mutex>

namespace ffkit {

// SplitMix64's finaliser after each part.
uint64_t key_of_parts(std::initializer_list<uint64_t> parts) {
  uint64_t key = 0;
  for (const uint64_t part : parts) {
    key = (key ^ part) + 0x9e3779b97f4a7c15;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
    key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
    key ^= key >> 31;
  }
  return key;
}

RandomSection::RandomSection(c10::Device device, std::optional<uint64_t> key) {
  if (!key) return;
  generator_ = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator_.mutex());
  before_ = generator_.get_state();
  generator_.set_current_seed(*key);
}

RandomSection::~RandomSection() {
  if (!generator_.defined()) return;
  const std::scoped_lock lock(generator_.mutex());
  generator_.set_state(before_);
}

}  // namespace ffkit
