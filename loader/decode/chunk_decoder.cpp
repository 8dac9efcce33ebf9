#include "decode/chunk_decoder.h"

#include <cstdint>
#include <span>

#include "batch/batch_queue.h"
#include "batch/cut_padding.h"
#include "batch/slab_pool.h"

namespace ffkit {

void ChunkDecoder::decode(int worker, Helpers& helpers, const SampleChunk& chunk) {
  const int64_t begin = now_ns();
  PendingBatch& batch = *chunk.batch;
  const size_t entry = uses_.first_entry + static_cast<size_t>(worker);
  for (const int64_t i : std::span(chunk.indices_in_batch).first(chunk.count)) {
    uses_.watch.begin(entry, batch.slab->record_indices[i]);
    uses_.samples.decode(helpers, worker, batch, i);
    ReadBufferPool::Buffer* buffer = batch.samples[i].buffer;
    if (buffer != nullptr && uses_.buffers.release(buffer)) uses_.io_wake.notify();
  }
  uses_.watch.end(entry);
  const bool is_last = batch.finish(static_cast<int64_t>(chunk.count));
  if (is_last) {
    join_rows(uses_.layout, *batch.slab);
    uses_.mixer.run(worker, *batch.slab);
    cut_padding(uses_.layout, *batch.slab);
  }
  uses_.stats.busy_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  if (is_last) batch.complete();
}

}  // namespace ffkit
