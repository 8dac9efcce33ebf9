#include "export/exporter.h"

#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include <ffkit/format/error.h>
#include <ffkit/format/machine.h>

#include "export/export_names.h"
#include "export/new_tree.h"
#include "text/output.h"
#include "text/progress_line.h"

namespace ffkit {
namespace {

constexpr int64_t kBlockBytes = 8 << 20;
constexpr int64_t kBlockRecords = 256;

// Some records on their way from the shards to their files.
struct Block {
  int64_t first = 0;
  std::vector<std::vector<std::byte>> records;
  std::vector<ExportFile> files;
};
using BlockPtr = std::shared_ptr<Block>;

// Some records from `first` on: few large ones, many small ones.
BlockPtr next_block(const Dataset& dataset, int64_t first) {
  auto block = std::make_shared<Block>();
  block->first = first;
  int64_t num_bytes = 0;
  int64_t end = first;
  while (end < dataset.num_records() && end - first < kBlockRecords && num_bytes < kBlockBytes) {
    num_bytes += dataset.locate(end++).record.raw_bytes;
  }
  block->records.resize(end - first);
  return block;
}

ExportedSplit export_split(const Dataset& dataset, const std::filesystem::path& destination) {
  ExportNames names(dataset);
  ExportedSplit result{.split = dataset.manifest().split, .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  std::atomic<int64_t> num_bytes = 0;
  int64_t next = 0;
  const auto cut = [&](tbb::flow_control& control) -> BlockPtr {
    if (next == dataset.num_records()) {
      control.stop();
      return nullptr;
    }
    BlockPtr block = next_block(dataset, next);
    next += std::ssize(block->records);
    return block;
  };
  const auto read = [&](BlockPtr block) {
    for (size_t i = 0; i < block->records.size(); ++i) {
      dataset.read(block->first + static_cast<int64_t>(i), block->records[i]);
    }
    return block;
  };
  // In order and one at a time, so that of two equal names always the same one is changed.
  const auto name = [&](BlockPtr block) {
    for (size_t i = 0; i < block->records.size(); ++i) {
      const int64_t index = block->first + static_cast<int64_t>(i);
      const RecordView record(dataset.schema(), block->records[i], dataset.name(index));
      auto files = names.next(dataset.index_in_split(index), record);
      if (files.empty()) ++result.num_skipped;
      std::ranges::move(files, std::back_inserter(block->files));
    }
    result.num_files += std::ssize(block->files);
    return block;
  };
  const auto write = [&](const BlockPtr& block) {
    for (const ExportFile& file : block->files) {
      throw_if_stopped();
      const std::filesystem::path path = destination / file.path;
      make_folder(path.parent_path());
      auto data = file.content.owned.empty() ? file.content.data
                                             : std::as_bytes(std::span(file.content.owned));
      std::vector<std::byte> jpeg;
      try {
        if (file.content.is_image) data = image_file(data, jpeg);
      } catch (const Error& error) {
        throw error.within({.path = dataset.path().string(), .record = file.record_index});
      }
      write_new_file(path, data);
      num_bytes += std::ssize(data);
    }
    for (const auto& record : block->records) progress.add(std::ssize(record));
  };
  using Mode = tbb::filter_mode;
  tbb::parallel_pipeline(2 * static_cast<size_t>(usable_cores()),
                         tbb::make_filter<void, BlockPtr>(Mode::serial_in_order, cut) &
                             tbb::make_filter<BlockPtr, BlockPtr>(Mode::parallel, read) &
                             tbb::make_filter<BlockPtr, BlockPtr>(Mode::serial_in_order, name) &
                             tbb::make_filter<BlockPtr, void>(Mode::parallel, write));
  result.num_bytes = num_bytes;
  result.renamed = names.renamed();
  return result;
}

}  // namespace

std::vector<ExportedSplit> export_splits(const std::vector<Dataset>& splits,
                                         const std::filesystem::path& destination) {
  for (const Dataset& dataset : splits) ExportNames check(dataset);
  std::vector<ExportedSplit> results;
  make_tree(destination, [&](const std::filesystem::path& folder) {
    for (const Dataset& dataset : splits) results.push_back(export_split(dataset, folder));
  });
  return results;
}

}  // namespace ffkit
