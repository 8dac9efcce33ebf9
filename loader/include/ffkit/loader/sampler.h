// Sampler: which records make up batch `step` of `epoch` on this rank. A pure function: no state,
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
// A position is found in O(1) time and O(1) memory, with two exceptions: Order::weighted keeps a
// table, as buckets do, and with groups of different sizes a batch takes O(number of groups).
// Immutable, so thread-safe; copies share the table of the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/samples.h>

namespace ffkit {

// Mixture: how many samples of each of several data sets an epoch has. A plain value and a pure
// function of it: thread-safe.
//
//   records        0 .......... 999 | 1000 .. 1099 |   data set 0 has 1000 of them, 1 has 100
//   equal shares   1000 samples     | 1000 samples |   each record of data set 1 ten times
//   weights 3, 1    825             |  275         |   an epoch of 1100 samples, as many as records
struct Mixture {
  // Records of each data set, >= 1, in the order of their numbers; at most 1024 data sets. Empty: a
  // Loader takes them from its Dataset, a chain (Dataset::source_sizes()).
  std::vector<int64_t> num_records = {};
  // The share of each data set in an epoch's samples, finite and > 0. Empty: equal shares; smaller
  // data sets are repeated until the largest is used up, as in RootNet's MultipleDatasets.
  std::vector<double> weights = {};

  bool operator==(const Mixture&) const = default;
};

// Returns the samples of each data set in an epoch of `epoch_size` samples. An epoch_size of 0 is
// the Sampler's default: the number of all records, or with equal shares the number of data sets
// times the records of the largest. Shares are rounded down; the samples that are left go to the
// largest remainders, of equal ones to the first. Throws Error(invalid_argument) for values out of
// range, and for a data set that would have no sample in the epoch.
std::vector<int64_t> mixture_counts(const Mixture& mixture, int64_t epoch_size = 0);

// What is fetched of a store at a time.
inline constexpr int64_t kStoreBlockBytes = int64_t{8} << 20;

// Where records stand in files, for orders that keep neighbours in a file together.
struct RecordPlaces {
  struct Run {                // records that stand behind each other in one file
    int64_t num_records = 0;  // >= 1
    int64_t num_bytes = 0;    // from the first of them to the last; >= 0
  };
  std::vector<Run> runs;
  // The numbers of all records in the order of the runs; empty: that of their numbers.
  std::vector<int64_t> records;
};

// Of Order::windowed: how the records are cut into blocks, and blocks into windows.
struct WindowOptions {
  int64_t window_block = 64;   // records in a block, >= 1
  int64_t window_blocks = 64;  // blocks in a window, >= 1
  // Blocks of about so many bytes of neighbours in one shard, instead of window_block records; 0:
  // of window_block records. They are cut by the mean size of a shard's records, without a look at
  // its index. A Loader finds `places` by itself.
  int64_t window_block_bytes = 0;
  std::shared_ptr<const RecordPlaces> places = nullptr;
  // For several machines without a disk in common: the records of an epoch are dealt to so many
  // streams, each with blocks and windows of its own, and each batch of all ranks has as many
  // samples of each. A stream has the same records in each epoch, and a rank takes neighbouring
  // streams, so that ranks read different blocks, and a machine's cache the same ones. 1 .. 2^20;
  // 0: one, or as Order::automatic says. A LoaderState knows the number. The batches of all ranks
  // together are those of any number of ranks, stream by stream in each.
  int64_t num_streams = 0;
};

// What happens to the records at the end that do not fill a step of all ranks.
enum class Tail {
  drop,  // left out; every rank has the same number of full batches
  pad,   // the sequence repeats from its beginning; every rank has the same number of full batches
  // every record exactly once; the last batch is smaller, and on the last ranks may be empty
  exact,
  // As torch's DistributedSampler: the sequence repeats from its beginning until the ranks share it
  // evenly, at most world_size - 1 samples. Every rank has the same number of samples and of
  // batches. The last batch is smaller.
  even,
  // Every record exactly once, as exact, but every rank has the same number of batches, for models
  // that average over ranks in each step. The ranks share the samples of the last step evenly; two
  // ranks differ by at most one sample. If the last step has fewer samples than ranks, each rank
  // has one sample in it, and the last ranks have one less in the step before. This is impossible
  // with fewer samples than ranks and with a batch_size of 1; then the last ranks have one batch
  // less.
  balanced,
};

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

  WindowOptions windows = {};  // of Order::windowed

  // Of Order::weighted, and only there: one for each of at most 2^32 records, finite, >= 0, not all
  // 0. A record of weight 0 is never drawn; one lighter than 2^-32 of the mean is drawn as if it
  // weighed that. They become a table of 8 bytes a record. A LoaderState knows them by their hash:
  // resume with the same ones.
  std::shared_ptr<const std::vector<double>> weights = nullptr;

  // Records that stay together in their order, such as the frames of a scene, or those of a window
  // of a Dataset::subset that repeats records: the first record of each group, ascending from 0.
  // Order::shuffle then permutes the groups, anew each epoch; it and Order::sequential are the
  // orders for it. A batch holds whole groups where all are of one size that batch_size is a
  // multiple of. A LoaderState knows them by their hash: resume with the same ones.
  std::shared_ptr<const std::vector<int64_t>> groups = nullptr;
  // A number for each record, such as that of aspect_ratio_buckets(): the samples of a batch are of
  // one bucket. Of Order::shuffle alone, without groups and mixture. The records of a bucket are
  // permuted and cut into batches, and the batches of all buckets are permuted, anew each epoch.
  // What fills no batch of its bucket comes last, bucket by bucket, so that the last batches may be
  // of several; they are left out under Tail::drop where they fill no step. They become tables of
  // 12 bytes a record. A LoaderState knows them and batch_size by their hash: resume with the same
  // ones, on any number of ranks.
  std::shared_ptr<const std::vector<int64_t>> buckets = nullptr;
  // Several data sets behind one another, such as those of a Dataset::chain(): the epoch has as
  // many samples of each as mixture_counts() says. Of Order::shuffle without groups alone. Where
  // and in which order the samples of a data set come is keyed by (seed, epoch). A data set of R
  // records gives them in another permutation for each R samples: over an epoch, each record is
  // used floor(samples / R) times or once more. All positions are permuted together: one record may
  // come twice before another one comes, and a batch's shares are the epoch's on average. A record
  // that comes again is another sample: its SampleKey has record_index + repetition * num_records.
  // A LoaderState knows the samples and records of each data set: resume with the same ones.
  std::optional<Mixture> mixture = std::nullopt;
  // All records of a group draw the same random numbers: its SampleKeys have the record_index of
  // its first record.
  bool share_randomness = false;
};

// The record_index of the SampleKey of record `record_index`: the record itself, or the first one
// of its group.
int64_t random_record(const SamplerOptions& options, int64_t record_index);

// Weights under which every class is drawn equally often: 1 / (number of records with the label),
// for each record.
std::vector<double> class_balanced_weights(std::span<const int64_t> labels);

// For pictures of these sizes the numbers of their buckets by aspect ratio, width / height:
// 2 * `factor` + 2 buckets between 2^-1 and 2^1, spaced evenly in the exponent, and beyond; 0:
// below 1, and from 1 on. As torchvision's references for detection have it with
// --aspect-ratio-group-factor. Throws Error(invalid_argument) for sizes below 1, another number of
// widths than heights, and a factor that is not 0 .. 64.
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
  // Under Tail::exact and Tail::balanced a rank's share of the last step may be empty.
  [[nodiscard]] int64_t num_batches(int64_t start = 0) const;
  // Number of samples of this rank's batch `step`, counted from global position `start`.
  [[nodiscard]] int64_t num_samples(int64_t start, int64_t step) const;

  // Record numbers of this rank's batch `step`, counted from global position `start`; replaces what
  // `out` held. Throws Error(invalid_argument) for a step below 0 and a start that is not within
  // the epoch.
  void batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const;
  // The same, and into `repetitions` how many times all records of its data set are used up before
  // each sample; empty without a mixture.
  void batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out,
             std::vector<int64_t>& repetitions) const;

  // A block of Order::windowed in blocks of bytes or in streams.
  struct Block {
    int64_t first = 0;  // number of its first record, and of its last one: in the same shard
    int64_t last = 0;
  };
  // The blocks that the records of that batch are in, neighbours in the batch being of one block
  // once; into `out`, whatever it held. None in other orders.
  void blocks(int64_t epoch, int64_t start, int64_t step, std::vector<Block>& out) const;

  // The record that takes the place of record `bad` in `epoch` when it cannot be decoded; `attempt`
  // 0, 1, ... are those to try one after another. It depends on nothing else of the batch, and is
  // one that the order could give: under Order::weighted it is drawn with the weights; with a
  // mixture it is of the same data set; with buckets it is of the same bucket; with groups it is
  // the nearest of the group of `bad` (of eight tried, the earlier first), then the one at its
  // place in other groups, the same ones for the whole group. Else every record is equally likely.
  // It may be `bad` itself.
  [[nodiscard]] int64_t replacement(int64_t epoch, int64_t bad, int attempt) const;

  // What the sequences of this sampler depend on besides the data and the seed, as text: order,
  // epoch size, windows, streams, and a hash of the weights or groups, or samples and records of
  // each data set of a mixture. "shuffle, 1281167 samples", "mixture of 1000/1000 + 1000/100, 2000
  // samples".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // Position in the epoch's sequence of the first sample of that batch; under Tail::exact and
  // Tail::even it may lie behind the end. With several streams, the position at which that sample
  // would be with one.
  [[nodiscard]] int64_t first_position(int64_t start, int64_t step) const;

  // Samples that all ranks together have consumed after `num_steps` steps from `start`: the
  // position to go on from.
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
  // Throws where there is no such step from there.
  void check_place(int64_t start, int64_t step) const;

  // Calls visit(position) for `count` positions from `first` on; behind the end of the epoch it
  // goes on at its beginning.
  template <typename Visit>
  void for_positions(int64_t first, int64_t count, const Visit& visit) const;

  // Appends the records at `count` positions from `first` on, and of a mixture their repetitions.
  void add_records(int64_t epoch, int64_t first, int64_t count, std::vector<int64_t>& out,
                   std::vector<int64_t>& repetitions) const;

  // The same of Order::windowed in streams or in blocks of bytes: calls visit(order, position) for
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
