#include "shard/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>

namespace ffkit {

StreamReader::StreamReader(const RandomReader& file, StreamInfo info, uint32_t number,
                           int64_t cache_bytes)
    : file_(file),
      info_(std::move(info)),
      number_(number),
      slots_(static_cast<size_t>(std::clamp<int64_t>(cache_bytes / kPageBytes, 1,
                                                     std::max<int64_t>(info_.num_pages(), 1)))),
      is_known_(static_cast<size_t>(std::min(info_.num_pages(), kMaxBits) / 64 + 1)) {}

void StreamReader::load(int64_t page_number, Page& page) const {
  file_.read_at(info_.offset + page_number * kPageBytes, page);
  check_page(page, page_number, number_, info_, file_.path().string());
}

void StreamReader::read(int64_t position, std::span<std::byte> element) const {
  const int64_t page_number = position / kPayloadBytes;
  const auto within = static_cast<size_t>(position % kPayloadBytes);
  const size_t number = static_cast<size_t>(page_number) % slots_.size();
  Slot& slot = slots_[number];
  std::mutex& mutex = mutexes_[number % kNumMutexes];
  const auto copy_from = [&](const Page& page) {
    std::memcpy(element.data(), page.data() + within, element.size());
  };
  {
    const std::scoped_lock lock(mutex);
    if (slot.page_number == page_number) return copy_from(*slot.page);
  }
  // Two threads may read the same page at once; the later one's is kept.
  auto page = std::make_unique<Page>();
  load(page_number, *page);
  set_is_known(page_number);
  copy_from(*page);
  const std::scoped_lock lock(mutex);
  slot.page_number = page_number;
  slot.page.swap(page);
}

void StreamReader::will_read(int64_t position) const {
  const int64_t page_number = position / kPayloadBytes;
  if (set_is_known(page_number)) return;
  file_.announce(info_.offset + page_number * kPageBytes, kPageBytes);
}

// Returns what it was.
bool StreamReader::set_is_known(int64_t page_number) const {
  const auto bit = static_cast<size_t>(page_number % kMaxBits);
  std::atomic<uint64_t>& word = is_known_[bit / 64];
  const uint64_t mask = uint64_t{1} << (bit % 64);
  if ((word.load(std::memory_order_relaxed) & mask) != 0) return true;
  return (word.fetch_or(mask, std::memory_order_relaxed) & mask) != 0;
}

std::vector<std::byte> StreamReader::read_all() const {
  std::vector<std::byte> payload;
  // A sparse file may claim any length: memory is taken for what was read and checked.
  constexpr int64_t kMaxReserved = 64 << 20;
  payload.reserve(static_cast<size_t>(std::min(info_.num_bytes, kMaxReserved)));
  uint32_t crc = 0;
  constexpr int64_t kPagesPerRead = 256;
  std::vector<std::byte> buffer;
  for (int64_t first = 0; first < info_.num_pages(); first += kPagesPerRead) {
    const int64_t count = std::min(kPagesPerRead, info_.num_pages() - first);
    buffer.resize(static_cast<size_t>(count * kPageBytes));
    file_.read_at(info_.offset + first * kPageBytes, buffer);
    for (int64_t i = 0; i < count; ++i) {
      const std::span<const std::byte, kPageBytes> page(buffer.data() + i * kPageBytes, kPageBytes);
      check_page(page, first + i, number_, info_, file_.path().string());
      crc = crc32c(page.last(4), crc);
      const int64_t used = std::min(kPayloadBytes, info_.num_bytes - (first + i) * kPayloadBytes);
      payload.insert(payload.end(), page.begin(), page.begin() + used);
    }
  }
  if (crc != info_.crc32c) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the index stream '{}' is damaged: CRC-32C over its pages is {:08x}, expected "
                    "{:08x}; copy or convert the shard again",
                    info_.name, crc, info_.crc32c),
        {.path = file_.path().string(), .offset = info_.offset});
  }
  return payload;
}

}  // namespace ffkit
