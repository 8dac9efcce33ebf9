#include <algorithm>
#include <exception>
#include <utility>

#include "decode/chunk_decoder.h"

namespace ffkit {
namespace {

int64_t unpacked_bytes(const RecordLocation& record) {
  return record.codec == Codec::none ? 0 : record.raw_bytes;
}

}  // namespace

int64_t max_record_bytes(const Dataset& dataset) {
  int64_t most = 0;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    most = std::max(most, dataset.shard(i).options().max_record_bytes);
  }
  return most;
}

RecordFetcher::RecordFetcher(const Dataset& dataset, int num_threads, bool verify_checksums,
                             const CachedReader& cached_reader, const FieldReads& field_reads,
                             StatsCounters& stats)
    : dataset_(dataset),
      verify_checksums_(verify_checksums),
      cached_reader_(cached_reader),
      field_reads_(field_reads),
      stats_(stats),
      budget_(2 * max_record_bytes(dataset)),
      memory_(num_threads) {}

std::span<const std::byte> RecordFetcher::fetch(int worker, const PendingSample& sample,
                                                int64_t record_index) {
  if (sample.error != nullptr) std::rethrow_exception(sample.error);
  if (sample.is_split) {
    const int64_t begin = now_ns();
    if (verify_checksums_) field_reads_.verify(record_index, sample.record);
    stats_.checksum_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
    return sample.record;
  }
  const Dataset::Location& location = sample.location;
  reserve(worker,
          (sample.is_cached ? location.record.stored_bytes : 0) + unpacked_bytes(location.record));
  Memory& memory = of(worker);
  const std::span<const std::byte> stored =
      sample.is_cached ? cached_reader_.read(location, memory.cached) : sample.record;
  const int64_t begin = now_ns();
  const auto record =
      memory.unpacker.unpack(dataset_.shard(location.shard_index), location.local_index,
                             location.record, stored, verify_checksums_);
  if (verify_checksums_ || location.record.codec != Codec::none) {
    stats_.checksum_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  }
  return record;
}

std::span<const std::byte> RecordFetcher::fetch_alone(int worker, int64_t record_index) {
  const Dataset::Location location = dataset_.locate(record_index);
  reserve(worker, location.record.stored_bytes + unpacked_bytes(location.record));
  Memory& memory = of(worker);
  return dataset_.shard(location.shard_index)
      .read(location.local_index, memory.alone, memory.unpacker);
}

// Memory for a record that takes `num_bytes` copied and decompressed.
void RecordFetcher::reserve(int worker, int64_t num_bytes) {
  release_large(worker);
  if (num_bytes <= RecordMemory::kSmallBytes) return;
  Memory& memory = of(worker);
  memory.drop_buffers();  // growing them would take more
  budget_.take(num_bytes);
  memory.large_bytes = num_bytes;
}

void RecordFetcher::release_large(int worker) {
  Memory& memory = of(worker);
  if (memory.large_bytes == 0) return;
  memory.drop_buffers();
  budget_.give_back(std::exchange(memory.large_bytes, 0));
}

void RecordFetcher::Memory::drop_buffers() {
  std::vector<std::byte>().swap(cached);
  std::vector<std::byte>().swap(alone);
  unpacker = RecordUnpacker();
}

}  // namespace ffkit
