// The records of a split, read and turned into items by all threads, and placed in their order.
//
//   cut ─▶ read, make (any thread) ─▶ place (one at a time, in order) ─▶ write (any thread)
//
// Memory: two blocks a thread, each of 8 MiB of records or one larger record, and their items.
#pragma once

#include <tbb/concurrent_queue.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>

#include "base/machine/parallel_pipeline.h"
#include "export/exported.h"
#include "export/new_files.h"
#include "text/output.h"

namespace ffkit {

// What becomes of a record, whose number is that in the split. An item may point into the record,
// which lives until `write` has run. Errors without a place get that of the record.
template <typename Item>
struct ExportSteps {
  std::function<Item(int64_t number, const RecordView& record)> make;
  std::function<void(int64_t number, const RecordView& record, Item& item)> place;
  std::function<void(int64_t number, Item& item)> write;  // may be empty
};

template <typename Item>
struct ExportBlock {
  int64_t first = 0;  // of the data set
  std::vector<std::vector<std::byte>> records;
  std::vector<Item> items;
};

// How many records from `first` on are a block: few large ones, many small ones.
inline int64_t block_size(const Dataset& dataset, int64_t first) {
  constexpr int64_t kMaxBytes = 8 << 20;
  constexpr int64_t kMaxRecords = 256;
  int64_t num_bytes = 0;
  int64_t end = first;
  while (end < dataset.num_records() && end - first < kMaxRecords && num_bytes < kMaxBytes) {
    num_bytes += dataset.locate(end++).record.raw_bytes;
  }
  return end - first;
}

// Runs the steps for all records. Throws what they throw, and Error(cancelled) once a signal has
// asked to stop.
template <typename Item>
void export_records(const ExportSource& source, ProgressLine& progress,
                    const ExportSteps<Item>& steps) {
  using Block = ExportBlock<Item>;
  // They are owned here: what TBB has in flight when a step throws is lost to it.
  std::vector<Block> blocks(2 * static_cast<size_t>(usable_cores()));
  tbb::concurrent_queue<Block*> free_blocks;
  for (Block& block : blocks) free_blocks.push(&block);
  const Dataset& dataset = source.dataset();
  // Calls `function` with number, view and position of every record of the block.
  const auto for_each = [&](Block& block, const auto& function) {
    for (size_t i = 0; i < block.records.size(); ++i) {
      throw_if_stopped();
      const int64_t index = block.first + static_cast<int64_t>(i);
      const int64_t number = dataset.index_in_split(index);
      try {
        function(number, source.view(index, block.records[i]), i);
      } catch (const Error& error) {
        if (!error.context().path.empty() || error.code() == ErrorCode::cancelled) throw;
        throw error.within({.path = dataset.path().string(), .record = number});
      }
    }
  };
  int64_t next = 0;
  const auto cut = [&](tbb::flow_control& control) -> Block* {
    Block* block = nullptr;
    if (next == dataset.num_records()) {
      control.stop();
      return nullptr;
    }
    // There are as many blocks as may be in flight.
    if (!free_blocks.try_pop(block)) throw std::logic_error("no free block");
    block->first = next;
    block->records.resize(static_cast<size_t>(block_size(dataset, next)));
    next += std::ssize(block->records);
    return block;
  };
  const auto make = [&](Block* block) {
    for (size_t i = 0; i < block->records.size(); ++i) {
      dataset.read(block->first + static_cast<int64_t>(i), block->records[i]);
    }
    block->items.reserve(block->records.size());
    for_each(*block, [&](int64_t number, const RecordView& record, size_t) {
      block->items.push_back(steps.make(number, record));
    });
    return block;
  };
  const auto place = [&](Block* block) {
    for_each(*block, [&](int64_t number, const RecordView& record, size_t i) {
      steps.place(number, record, block->items[i]);
    });
    return block;
  };
  const auto write = [&](Block* block) {
    if (steps.write) {
      for_each(*block, [&](int64_t number, const RecordView&, size_t i) {
        steps.write(number, block->items[i]);
      });
    }
    for (const auto& record : block->records) progress.add(std::ssize(record));
    block->items.clear();
    free_blocks.push(block);
  };
  using Mode = tbb::filter_mode;
  tbb::parallel_pipeline(blocks.size(),
                         tbb::make_filter<void, Block*>(Mode::serial_in_order, cut) &
                             tbb::make_filter<Block*, Block*>(Mode::parallel, make) &
                             tbb::make_filter<Block*, Block*>(Mode::serial_in_order, place) &
                             tbb::make_filter<Block*, void>(Mode::parallel, write));
}

}  // namespace ffkit
