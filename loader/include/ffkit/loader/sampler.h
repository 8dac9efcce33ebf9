// Sampler: chooses the records of batch `step` of `epoch` on this rank. A pure function: no state,
// no communication.
//
// An epoch is one global sequence of records, the same for every world size. Step t of all ranks
// together takes the next world_size * batch_size of it, and rank r the r-th batch_size records of
// them:
//
//   start                 + G                 + 2G            G = world_size * batch_size
//     | rank 0 | rank 1 |   rank 0 | rank 1 |   ...
//
// All functions throw Error(io) when there is not enough memory.
//
// Finding a position takes O(1) time and memory, with two exceptions: Order::weighted and buckets
// keep a table, and with groups of different sizes a batch takes O(number of groups). Immutable, so
// thread-safe; copies share the table of the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/samples.h>

namespace ffkit {

// Mixture: the number of samples of each data set in an epoch. A plain value and a pure function of
// it: thread-safe.
//
//   records        0 .......... 999 | 1000 .. 1099 |   data set 0 has 1000 of them, 1 has 100
//   equal shares   1000 samples     | 1000 samples |   each record of data set 1 ten times
//   weights 3, 1    825             |  275         |   an epoch of 1100 samples, as many as records
struct Mixture {
  // Number of records of each data set, >= 1; at most 1024 data sets. Empty: a Loader takes them
  // from its Dataset, a chain (Dataset::source_sizes()).
  std::vector<int64_t> num_records = {};
  // The share of each data set in an epoch's samples, finite and > 0. Empty: equal shares; smaller
  // data sets are repeated until the largest is used up, as in RootNet's MultipleDatasets.
  std::vector<double> weights = {};

  bool operator==(const Mixture&) const = default;
};

// Returns the samples of each data set in an epoch of `epoch_size` samples. An epoch_size of 0 is
// the Sampler's default: the number of all records, or with equal shares the number of data sets
// times the records of the largest. Shares are rounded down; the rest goes to the largest
// remainders, of equal ones to the first. Throws Error(invalid_argument) for values out of range,
// and for a data set without a sample in the epoch.
std::vector<int64_t> mixture_counts(const Mixture& mixture, int64_t epoch_size = 0);

// The part of a store's data that is fetched at a time.
inline constexpr int64_t kStoreBlockBytes = int64_t{8} << 20;

// The places of records in files, for orders that keep neighbours in a file together.
struct RecordPlaces {
  struct Run {                // records that stand behind each other in one file
    int64_t num_records = 0;  // >= 1
    int64_t num_bytes = 0;    // from the first of them to the last; >= 0
  };
  std::vector<Run> runs;
  // The numbers of all records in the order of the runs; empty: 0, 1, 2, ...
  std::vector<int64_t> records;
};

// For Order::windowed: how records are divided into blocks, and blocks into windows.
struct WindowOptions {
  int64_t window_block = 64;   // records in a block, >= 1
  int64_t window_blocks = 64;  // blocks in a window, >= 1
  // Approximate size of a block in bytes, instead of window_block records; 0: window_block records.
  // Blocks are computed from the mean size of a shard's records, without its index. A Loader finds
  // `places` itself.
  int64_t window_block_bytes = 0;
  std::shared_ptr<const RecordPlaces> places = nullptr;
  // For several machines without a shared disk: the records of an epoch are divided into this many
  // streams, each with its own blocks and windows. Each batch of all ranks has the same number of
  // samples of each stream. A stream has the same records in each epoch, and a rank takes
  // neighbouring streams. So ranks read different blocks, and the cache of a machine gets the same
  // ones in each epoch. 1 .. 2^20; 0: one, or the choice of Order::automatic. A LoaderState has the
  // number. The batches of all ranks together are the same for any number of ranks.
  int64_t num_streams = 0;
};

// The treatment of records at the end that do not fill a step of all ranks.
enum class Tail {
  drop,  // left out; every rank has the same number of full batches
  pad,   // the sequence repeats from its beginning; every rank has the same number of full batches
  // every record exactly once; the last batch is smaller, and on the last ranks may be empty
  exact,
  // Like torch's DistributedSampler: up to world_size - 1 samples from the beginning are repeated,
  // so that every rank has the same number of samples and batches. The last batch is smaller.
  even,
  // Every record exactly once, like exact, but every rank has the same number of batches, for
  // models that average over ranks in each step. The ranks share the samples of the last step
  // evenly; two ranks differ by at most one sample. If the last step has fewer samples than ranks,
  // the last ranks move one sample from the step before into it. If there are fewer samples than
  // ranks, or batch_size is 1, this is impossible; then the last ranks have one batch less.
  balanced,
};
template <>
inline constexpr auto kNames<Tail> = enum_names<Tail>("tail", {{Tail::drop, "drop"},
                                                               {Tail::pad, "pad"},
                                                               {Tail::exact, "exact"},
                                                               {Tail::even, "even"},
                                                               {Tail::balanced, "balanced"}});

struct SamplerOptions {
  Order order = Order::automatic;
  Tail tail = Tail::drop;
  uint64_t seed = 0;
  int rank = 0;        // 0 .. world_size-1
  int world_size = 1;  // number of processes that share the epoch

  // Samples in an epoch; 0: the number of records, or the sum of mixture_counts(). A smaller number
  // takes the beginning of the epoch's sequence. Only Order::weighted and mixtures take a larger
  // one.
  int64_t epoch_size = 0;

  WindowOptions windows = WindowOptions();  // of Order::windowed; {} makes GCC 12 warn

  // For Order::weighted only: one for each of at most 2^32 records, finite, >= 0, not all 0. A
  // record of weight 0 is never drawn; weights below 2^-32 of the mean are raised to that. They
  // need a table of 8 bytes per record. A LoaderState has their hash: resume with the same weights.
  std::shared_ptr<const std::vector<double>> weights = nullptr;

  // Records that stay together in order, such as the frames of a scene or of a window: the first
  // record of each group, ascending from 0. Order::shuffle permutes the groups in each epoch;
  // Order::sequential is the only other order for groups. If all groups have one size and
  // batch_size is a multiple of it, a batch has whole groups. A LoaderState has their hash: resume
  // with the same groups.
  std::shared_ptr<const std::vector<int64_t>> groups = nullptr;
  // A number for each record, such as from aspect_ratio_buckets(): all samples of a batch are of
  // one bucket. Only for Order::shuffle, without groups and mixture. In each epoch, the records of
  // a bucket are permuted and divided into batches, and the batches of all buckets are permuted.
  // The remaining records come last, bucket by bucket, so the last batches may have several
  // buckets; Tail::drop leaves them out if they do not fill a step. They need tables of 12 bytes
  // per record. A LoaderState has the hash of buckets and batch_size: resume with the same ones, on
  // any number of ranks.
  std::shared_ptr<const std::vector<int64_t>> buckets = nullptr;
  // Several data sets in a chain: an epoch has mixture_counts() samples of each. Only for
  // Order::shuffle without groups. The order depends on (seed, epoch). A data set of R records
  // gives R samples in one permutation, then R in another one, and so on; so in an epoch, each
  // record is used floor(samples / R) times or once more. All positions are permuted together: a
  // record may come twice before another one comes, and a batch has the shares of the epoch only on
  // average. A repeated record is another sample: its SampleKey has record_index + repetition *
  // num_records. A LoaderState has the samples and records of each data set: resume with the same
  // ones.
  std::optional<Mixture> mixture = std::nullopt;
  // All records of a group get the same random numbers: their SampleKeys have the record_index of
  // its first record.
  bool share_randomness = false;
};

// The record_index of the SampleKey of record `record_index`: the record itself, or the first one
// of its group.
int64_t random_record(const SamplerOptions& options, int64_t record_index);

// Weights under which every class is drawn equally often: 1 / (number of records with the label),
// for each record.
std::vector<double> class_balanced_weights(std::span<const int64_t> labels);

// The bucket of each picture by its aspect ratio, width / height: 2 * `factor` + 2 buckets, spaced
// evenly in the exponent between 2^-1 and 2^1, and beyond; factor 0: below 1, and 1 or more. Like
// --aspect-ratio-group-factor of torchvision's references for detection. Throws
// Error(invalid_argument) for sizes below 1, different numbers of widths and heights, and a factor
// that is not 0 .. 64.
std::vector<int64_t> aspect_ratio_buckets(std::span<const int64_t> widths,
                                          std::span<const int64_t> heights, int factor = 3);

class AliasTable;
class RecordBuckets;
class MixedSets;
class BlockStreams;

class Sampler {
 public:
  // Throws Error(invalid_argument) for num_records < 1, batch_size < 1, a rank outside the world or
  // options out of their range, and for more than 2^60 records, samples in an epoch or samples in a
  // step of all ranks.
  Sampler(int64_t num_records, int64_t batch_size, SamplerOptions options);

  [[nodiscard]] int64_t num_records() const noexcept { return num_records_; }
  // Length of an epoch's sequence: the positions are 0 .. epoch_size()-1.
  [[nodiscard]] int64_t epoch_size() const noexcept { return epoch_size_; }
  [[nodiscard]] int64_t batch_size() const noexcept { return batch_size_; }
  // `weights` is null here: the table has taken their place.
  [[nodiscard]] const SamplerOptions& options() const noexcept { return options_; }

  // Number of steps from global position `start` to the end of an epoch; the same on every rank.
  // With Tail::exact and Tail::balanced, a rank's share of the last step may be empty.
  [[nodiscard]] int64_t num_batches(int64_t start = 0) const;
  // Number of samples of this rank's batch `step`, counted from global position `start`.
  [[nodiscard]] int64_t num_samples(int64_t start, int64_t step) const;

  // Writes the record numbers of this rank's batch `step`, counted from global position `start`, to
  // `out`. Throws Error(invalid_argument) for a step below 0 and a start outside of the epoch.
  void batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const;
  // The same, and for each sample the number of earlier passes over its data set in `repetitions`;
  // empty without a mixture.
  void batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out,
             std::vector<int64_t>& repetitions) const;

  // A block of Order::windowed in blocks of bytes or in streams.
  struct Block {
    int64_t first = 0;  // number of its first record, and of its last one: in the same shard
    int64_t last = 0;
  };
  // Writes the blocks of that batch's records to `out`; consecutive records of one block give it
  // once. None in other orders.
  void blocks(int64_t epoch, int64_t start, int64_t step, std::vector<Block>& out) const;

  // The record that replaces record `bad` in `epoch` if it cannot be decoded; try `attempt` 0, 1,
  // ... one after another. It does not depend on the rest of the batch. With Order::weighted it is
  // drawn with the weights; with a mixture it is of the same data set; with buckets of the same
  // bucket. With groups it is first the nearest record of the group of `bad` (up to eight, earlier
  // ones first), then the record at its place in other groups, the same for the whole group.
  // Otherwise every record is equally likely. It may be `bad` itself.
  [[nodiscard]] int64_t replacement(int64_t epoch, int64_t bad, int attempt) const;

  // A text with everything that determines the sequences, except data and seed: the order, the
  // epoch size, windows, streams, and a hash of the weights or groups. For a mixture, it has the
  // numbers of samples and records of each data set. "shuffle, 1281167 samples", "mixture of
  // 1000/1000 + 1000/100, 2000 samples".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // Position of the batch's first sample in the sequence of the epoch; with Tail::exact and
  // Tail::even it may be after the end. With several streams, the position that it would have with
  // one.
  [[nodiscard]] int64_t first_position(int64_t start, int64_t step) const;

  // Samples that all ranks together have consumed after `num_steps` steps from `start`: the
  // position to continue from.
  [[nodiscard]] int64_t position_after(int64_t start, int64_t num_steps) const;

 private:
  // The positions of this rank in a step.
  struct Share {
    int64_t first = 0;
    int64_t count = 0;
  };
  Share share(int64_t start, int64_t step) const { return share_of(options_.rank, start, step); }
  Share share_of(int64_t rank, int64_t start, int64_t step) const;
  // Samples that Tail::balanced moves from the step before the last one to the last.
  int64_t num_moved(int64_t start) const;
  // Throws if there is no such step from there.
  void check_place(int64_t start, int64_t step) const;

  // Appends the records at `count` positions from `first` on, and of a mixture their repetitions.
  // After the end of the epoch it continues at its beginning.
  void add_records(int64_t epoch, int64_t first, int64_t count, std::vector<int64_t>& out,
                   std::vector<int64_t>& repetitions) const;

  // The same for Order::windowed in streams or in blocks of bytes: calls visit(order, position) for
  // the positions of this rank's share of a step.
  template <typename Visit>
  void for_streamed(int64_t epoch, int64_t start, int64_t step, const Share& mine,
                    const Visit& visit) const;

  int64_t replacement_in_groups(uint64_t epoch_key, int64_t bad, int attempt) const;

  SamplerOptions options_;
  int64_t num_records_;
  int64_t epoch_size_;
  int64_t batch_size_;
  std::string description_;
  std::shared_ptr<const AliasTable> table_;  // of Order::weighted
  std::shared_ptr<const MixedSets> sets_;    // of a mixture
  std::shared_ptr<const RecordBuckets> buckets_;
  std::shared_ptr<const BlockStreams>
      streams_;  // of Order::windowed, where WindowedOrder is not it
};

}  // namespace ffkit
