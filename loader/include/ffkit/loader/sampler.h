// Sampler: which records make up batch `step` of `epoch` on this rank. A pure function: no state, no communication.
//
// An epoch is one global sequence of records, the same for every world size. Step t of all ranks together takes the next
// world_size * batch_size of it, rank r the r-th block of batch_size among them:
//
//   start                 + G                 + 2G            G = world_size * batch_size
//     | rank 0 | rank 1 |   rank 0 | rank 1 |   ...
#pragma once

#include <cstdint>
#include <vector>

namespace ffkit {

enum class Order {
  sequential,  // record order
  shuffle,     // another permutation each epoch, keyed by (seed, epoch)
};

// What happens to the records at the end that do not fill a step of all ranks.
enum class Tail {
  drop,   // left out; every rank has the same number of full batches
  pad,    // the sequence goes on from its beginning; every rank has the same number of full batches
  exact,  // every record exactly once; the last batch is smaller, and on the last ranks may be empty
};

struct SamplerOptions {
  Order order = Order::shuffle;
  Tail tail = Tail::drop;
  uint64_t seed = 0;
  int rank = 0;        // 0 .. world_size-1
  int world_size = 1;  // number of processes that share the epoch
};

class Sampler {
 public:
  // Throws Error(invalid_argument) for num_records < 1, batch_size < 1 or a rank outside the world.
  Sampler(int64_t num_records, int64_t batch_size, SamplerOptions options);

  int64_t num_records() const { return num_records_; }
  int64_t batch_size() const { return batch_size_; }
  const SamplerOptions& options() const { return options_; }

  // Number of steps from global position `start` to the end of an epoch; the same on every rank.
  // Under Tail::exact a rank's share of the last step may be empty.
  int64_t num_batches(int64_t start = 0) const;

  // Record numbers of this rank's batch `step`, counted from global position `start`; replaces what `out` held.
  void batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const;

  // Records that all ranks together have consumed after `num_steps` steps from `start`: the position to go on from.
  int64_t position_after(int64_t start, int64_t num_steps) const;

 private:
  int64_t num_records_;
  int64_t batch_size_;
  SamplerOptions options_;
};

}  // namespace ffkit
