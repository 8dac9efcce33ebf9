#include "sampling/block_streams.h"

#include <utility>

#include "base/mix64.h"

namespace ffkit {
namespace {

constexpr size_t kKeptEpochs = 2;
// Stands where keys of epochs have the epoch's number, which is never negative.
constexpr uint64_t kStreamsKey = ~uint64_t{0};

// a * b / c without overflow, for numbers of at most 2^60 each whose result is as small.
int64_t scaled(int64_t a, int64_t b, int64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) / static_cast<Wide>(c));
}

}  // namespace

BlockStreams::BlockStreams(int64_t num_records, const SamplerOptions& options)
    : num_records_(num_records),
      num_streams_(std::max<int64_t>(options.num_streams, 1)),
      block_bytes_(options.window_block_bytes > 0 ? options.window_block_bytes
                                                  : options.window_block),
      window_blocks_(options.window_blocks) {
  std::vector<RecordPlaces::Run> runs = {{num_records, num_records}};
  if (options.window_block_bytes > 0) {
    runs = options.places->runs;
    if (!options.places->records.empty()) {
      records_ = {options.places, &options.places->records};
    }
  }
  runs_.reserve(runs.size());
  int64_t place = 0;
  for (const RecordPlaces::Run& run : runs) {
    const int64_t num_blocks = run.num_bytes / block_bytes_ +
                               (run.num_bytes % block_bytes_ >= (block_bytes_ + 1) / 2 ? 1 : 0);
    runs_.push_back({.position = 0,
                     .first_place = place,
                     .num_records = run.num_records,
                     .num_bytes = run.num_bytes,
                     .num_blocks = std::clamp<int64_t>(num_blocks, 1, run.num_records)});
    place += run.num_records;
  }
  if (num_streams_ > 1) permute_runs(options.seed);
  for (int64_t position = 0; Run & run : runs_) {
    run.position = position;
    position += run.num_records;
  }
}

// By the seed alone: the streams of all epochs have the same runs.
void BlockStreams::permute_runs(uint64_t seed) {
  const Permutation permuted(std::ssize(runs_), mix64(mix64(seed, kStreamsKey), 0));
  std::vector<Run> runs;
  runs.reserve(runs_.size());
  for (int64_t i = 0; i < std::ssize(runs_); ++i) {
    runs.push_back(runs_[static_cast<size_t>(permuted(i))]);
  }
  runs_ = std::move(runs);
}

// Where a multiple of the block's bytes lies, if all records of the run are of its mean size. The
// last block has up to one and a half times as many bytes.
int64_t BlockStreams::block_begin(const Run& run, int64_t block) const {
  if (block == run.num_blocks) return run.num_records;
  if (run.num_blocks == run.num_records) return block;
  return scaled(block * block_bytes_, run.num_records, run.num_bytes);
}

int64_t BlockStreams::block_of(const Run& run, int64_t record) const {
  int64_t first = 0;
  int64_t end = run.num_blocks;
  while (end - first > 1) {
    const int64_t middle = first + (end - first) / 2;
    (block_begin(run, middle) <= record ? first : end) = middle;
  }
  return first;
}

std::shared_ptr<const RecordStream> BlockStreams::make_stream(uint64_t key, int64_t number) const {
  auto stream = std::make_shared<RecordStream>();
  const int64_t size = num_records_ / num_streams_;
  const int64_t num_longer = num_records_ % num_streams_;
  const int64_t begin = number * size + std::min(number, num_longer);
  stream->num_records = size + (number < num_longer ? 1 : 0);
  stream->key = mix64(mix64(key, 2), static_cast<uint64_t>(number));
  if (stream->num_records == 0) return stream;
  const int64_t end = begin + stream->num_records;

  struct Found {
    int64_t first_record;
    int64_t num_records;
  };
  std::vector<Found> found;
  auto run = std::prev(std::ranges::upper_bound(runs_, begin, {}, &Run::position));
  for (; run != runs_.end() && run->position < end; ++run) {
    int64_t record = std::max<int64_t>(begin - run->position, 0);
    const int64_t last = std::min(run->num_records, end - run->position);
    for (int64_t block = block_of(*run, record); record < last; ++block) {
      const int64_t block_end = std::min(last, block_begin(*run, block + 1));
      found.push_back({run->first_place + record, block_end - record});
      record = block_end;
    }
  }

  const auto num_blocks = std::ssize(found);
  const Permutation permuted(num_blocks, mix64(stream->key, 0));
  stream->blocks.reserve(found.size());
  int64_t position = 0;
  for (int64_t i = 0; i < num_blocks; ++i) {
    const Found& block = found[static_cast<size_t>(permuted(i))];
    stream->blocks.push_back({position, block.first_record});
    position += block.num_records;
  }
  // Windows of as many blocks, but for one.
  const int64_t num_windows = (num_blocks - 1) / window_blocks_ + 1;
  stream->windows.reserve(static_cast<size_t>(num_windows) + 1);
  for (int64_t i = 0; i <= num_windows; ++i) {
    stream->windows.push_back(static_cast<size_t>(scaled(i, num_blocks, num_windows)));
  }
  return stream;
}

std::shared_ptr<const RecordStream> BlockStreams::stream(uint64_t key, int64_t stream) const {
  const std::scoped_lock lock(mutex_);
  auto epoch = std::ranges::find(epochs_, key, &Epoch::key);
  if (epoch == epochs_.end()) {
    epochs_.push_front({.key = key, .streams = {}});
    if (epochs_.size() > kKeptEpochs) epochs_.pop_back();
    epoch = epochs_.begin();
  }
  std::shared_ptr<const RecordStream>& found = epoch->streams[stream];
  if (found == nullptr) found = make_stream(key, stream);
  return found;
}

void StreamedOrder::go_to_window(int64_t place) {
  const std::vector<RecordStream::Block>& blocks = stream_->blocks;
  const std::vector<size_t>& windows = stream_->windows;
  const auto begins_at = [&](size_t block) {
    return block == blocks.size() ? stream_->num_records : blocks[block].position;
  };
  const auto next = std::ranges::upper_bound(windows, place, {}, begins_at);
  first_block_ = *std::prev(next);
  end_block_ = *next;
  window_begin_ = begins_at(first_block_);
  window_size_ = begins_at(end_block_) - window_begin_;
  const auto window = static_cast<uint64_t>(next - windows.begin());  // from 1
  records_ = Permutation(window_size_, mix64(stream_->key, window));
}

std::pair<int64_t, int64_t> StreamedOrder::block() const {
  const std::vector<RecordStream::Block>& blocks = stream_->blocks;
  const RecordStream::Block& block = blocks[last_block_];
  const int64_t end =
      last_block_ + 1 < blocks.size() ? blocks[last_block_ + 1].position : stream_->num_records;
  return {streams_.record_at(block.first_record),
          streams_.record_at(block.first_record + end - block.position - 1)};
}

int64_t StreamedOrder::operator()(int64_t position) {
  const int64_t number = position % streams_.num_streams();
  const int64_t place = position / streams_.num_streams();
  if (number != number_) {
    number_ = number;
    stream_ = streams_.stream(key_, number);
    window_size_ = 0;
  }
  if (place < window_begin_ || place >= window_begin_ + window_size_) go_to_window(place);
  const int64_t shuffled = window_begin_ + records_(place - window_begin_);
  const auto blocks = std::span(stream_->blocks).subspan(first_block_, end_block_ - first_block_);
  const auto next = std::ranges::upper_bound(blocks, shuffled, {}, &RecordStream::Block::position);
  last_block_ = first_block_ + static_cast<size_t>(next - blocks.begin()) - 1;
  const RecordStream::Block& block = stream_->blocks[last_block_];
  return streams_.record_at(block.first_record + shuffled - block.position);
}

}  // namespace ffkit
