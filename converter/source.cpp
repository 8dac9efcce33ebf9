#include <algorithm>

#include <ffkit/converter/source.h>

namespace ffkit {

std::span<std::byte> SampleBuffers::bytes(size_t num_bytes) {
  std::vector<std::byte>& block = array();
  if (block.size() < num_bytes) block.resize(num_bytes);
  return {block.data(), num_bytes};
}

std::vector<std::byte>& SampleBuffers::array() {
  if (num_used_ == blocks_.size()) blocks_.push_back(std::make_unique<std::vector<std::byte>>());
  return *blocks_[num_used_++];
}

std::string_view SampleBuffers::text(std::string_view value) {
  const std::span<std::byte> copy = bytes(value.size());
  std::ranges::copy(std::as_bytes(std::span(value)), copy.begin());
  return {reinterpret_cast<const char*>(copy.data()), copy.size()};
}

void SampleBuffers::clear() {
  constexpr size_t kKeptBytes = 1 << 20;
  for (auto& block : blocks_) {
    if (block->capacity() > kKeptBytes) block = std::make_unique<std::vector<std::byte>>();
  }
  num_used_ = 0;
  problems_.clear();
}

}  // namespace ffkit
