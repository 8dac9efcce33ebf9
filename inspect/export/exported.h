// An export: its records, the steps they take, the files it makes, and what is not as it was.
#pragma once

#include <tbb/concurrent_queue.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

#include "base/file/file.h"
#include "base/machine/parallel_pipeline.h"
#include "text/output.h"

namespace ffkit {

// The records of a split that are exported, with all of their fields or some. Thread-safe once it
// is made. Views of records refer to it: it must stay where it is meanwhile.
class ExportSource {
 public:
  // `fields`: those that are exported, in this order; empty: all. Throws Error(not_found) for one
  // that there is not, Error(invalid_argument) for one that is named twice.
  explicit ExportSource(Dataset dataset, const std::vector<std::string>& fields = {});

  const Dataset& dataset() const noexcept { return dataset_; }
  const std::string& split() const noexcept { return dataset_.manifest().split; }
  // Of the chosen fields.
  const Schema& schema() const noexcept { return schema_; }
  // Record `index` of the data set, whose bytes are `record`, as one of schema().
  RecordView view(int64_t index, std::span<const std::byte> record) const {
    return {schema_, record, dataset_.name(index),
            mapping_.positions.empty() ? nullptr : &mapping_};
  }

 private:
  Dataset dataset_;
  Schema schema_;
  FieldMapping mapping_;  // without positions: all fields as they are
};

// "fields that are null in some records, ...: 'a' in 3; 'b' in 1".
struct ExportNote {
  std::string sentence;
  std::vector<std::string> items = {};  // behind a colon

  // With all items, or with the first ones and the number of the others.
  std::string text(bool is_whole) const;
};

struct ExportedSplit {
  std::string split;
  int64_t num_records = 0;
  int64_t num_files = 0;
  int64_t num_bytes = 0;
  int64_t num_skipped = 0;  // records of which nothing was written: all they could give is null
  std::map<int64_t, std::string> renamed = {};  // see ExportNames
  std::vector<ExportNote> notes = {};           // what is not as it was
  // Of class folders: one a label.
  std::vector<std::string> class_folders = {};
  // Options of `ffconvert webdataset` that the split needs to come back.
  std::set<std::string> way_back = {};
};

struct Exported {
  std::vector<ExportedSplit> splits;
  // Files of classes beside the splits, relative to the destination: "classes.txt". For forms that
  // do not say the classes in another way.
  std::vector<std::string> class_files;
  std::vector<std::string> notes;  // on the whole of it
};

// Writes into `folder` what classes the splits have: classes.txt with their identifiers, which
// `ffconvert --classes` takes, and class_names.txt where they have readable names. Where splits
// differ, each has its own: classes-<split>.txt. Adds their names, and what cannot be said in them,
// to `exported`. Throws Error(io).
void write_class_files(const std::vector<Dataset>& splits, const std::filesystem::path& folder,
                       Exported& exported);

// The same of the class folders that the splits of `exported` have, for forms of files; nothing
// where no split has a note on them.
void write_class_folders(const std::filesystem::path& folder, Exported& exported);

// New files: a folder tree that appears whole or not at all, and what is written into it.

// Makes the folder and those above it; throws Error(io).
void make_folder(const std::filesystem::path& folder);
// Creates `file` with `data`; throws Error(io) when it exists or cannot be written.
void write_new_file(const std::filesystem::path& file, std::span<const std::byte> data);

// Calls `fill` with an empty folder whose content becomes that of `destination`, which must not
// exist or be an empty folder.
//
//   OUT does not exist:    OUT.ffinspect-export/  is filled, then renamed to OUT
//   OUT is an empty folder: OUT/.ffinspect-export/ is filled, then what is in it moves up
//
// While it is filled, nobody else can fill the same `destination`: Error(invalid_argument). When
// `fill` throws, all of it is removed; what a process that was killed left is removed by the next
// one. Throws Error(invalid_argument) for a destination that will not do, Error(io).
void make_tree(const std::filesystem::path& destination,
               const std::function<void(const std::filesystem::path& folder)>& fill);

// Throws Error(cancelled) once a signal has asked to stop (stop_signals.h).
void throw_if_stopped();

// A new file that is written from front to back, in pieces of a megabyte. Not thread-safe. All
// functions throw Error(io), with what to do about a full disk.
class ShardFile {
 public:
  explicit ShardFile(const std::filesystem::path& path);

  void write(std::span<const std::byte> data);
  void write(std::string_view text);
  // Of what write() was given.
  int64_t num_bytes() const noexcept { return num_bytes_; }
  // Writes what is left. Without it the file is not whole.
  void close();

 private:
  void flush();

  File file_;
  std::vector<std::byte> buffer_;
  int64_t num_bytes_ = 0;
};

// The records of a split, read and turned into items by all threads, and placed in their order.
//
//   cut ─▶ read, make (any thread) ─▶ place (one at a time, in order) ─▶ write (any thread)
//
// Memory: two blocks a thread, each of 8 MiB of records or one larger record, and their items.

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
