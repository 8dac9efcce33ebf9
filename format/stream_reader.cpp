#include "stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>

#include "little_endian.h"

namespace ffkit {

StreamReader::StreamReader(const File& file, StreamInfo info, uint32_t number)
    : file_(file), info_(std::move(info)), number_(number), pages_(nullptr, std::free) {
  const auto count = static_cast<size_t>(std::max<int64_t>(info_.num_pages(), 1));
  pages_.reset(static_cast<std::byte**>(std::calloc(count, sizeof(std::byte*))));
  if (pages_ == nullptr) throw std::bad_alloc();
}

StreamReader::~StreamReader() {
  for (int64_t page = 0; page < info_.num_pages(); ++page) delete[] pages_[page];
}

std::span<const std::byte, kPageBytes> StreamReader::load(int64_t page_number) const {
  std::atomic_ref<std::byte*> slot(pages_[page_number]);
  std::byte* page = slot.load(std::memory_order_acquire);
  if (page == nullptr) {
    auto fresh = std::make_unique<std::byte[]>(kPageBytes);
    const std::span<std::byte, kPageBytes> bytes(fresh.get(), kPageBytes);
    file_.read_at(info_.offset + page_number * kPageBytes, bytes);
    check_page(bytes, page_number, number_, info_, file_.path().string());
    // Two threads may load the same page; one of them wins.
    if (slot.compare_exchange_strong(page, fresh.get(), std::memory_order_acq_rel))
      page = fresh.release();
  }
  return std::span<const std::byte, kPageBytes>(page, kPageBytes);
}

const std::byte* StreamReader::at(int64_t position) const {
  return load(position / kPayloadBytes).data() + position % kPayloadBytes;
}

std::vector<std::byte> StreamReader::read_all() const {
  std::vector<std::byte> payload;
  payload.reserve(static_cast<size_t>(info_.num_bytes));
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
