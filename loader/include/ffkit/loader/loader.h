// Loader: gives batches of decoded samples from a Dataset, in order, as fast as disk and decoder
// allow.
//
//   Sampler ─▶ reads (io_uring | pread) ─▶ decode + augment (threads) ─▶ batch's slab ─▶ next()
//
// One I/O thread and `num_threads` decoding threads prepare up to `prefetch_batches` batches ahead
// of the consumer. Batches have the same bytes for any number of threads and either I/O engine.
// After construction, batches need no new memory, except in libraries that decode pictures.
//
// Thread safety: a Loader belongs to one consumer thread. Batches may be kept and destroyed on any
// thread. A Loader may be destroyed at any time: its destructor waits for reads in flight and drops
// the rest. If a file system hangs, the destructor waits for io.read_timeout_s, at most 10 s. If
// reads are outstanding after that, their threads and the loader's memory are kept until the
// process ends, because the kernel may still write to this memory.
//
// A Loader belongs to its process. In a child after fork() it can only be destroyed, and its memory
// is kept until the child ends; set_epoch(), restore() and next() throw Error(invalid_argument).
// Its batches can be read in the child, but must not be destroyed there.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/loader_state.h>

namespace ffkit {

class Loader {
 public:
  // Throws Error(invalid_argument) for options out of range, fields of the wrong type and an epoch
  // without a batch (Tail::drop), Error(not_found) for fields the data set lacks,
  // Error(unsupported) for I/O that is not available.
  Loader(Dataset dataset, LoaderOptions options);
  ~Loader();
  // All functions of a loader that was moved from throw Error(invalid_argument).
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  [[nodiscard]] const Dataset& dataset() const;
  // The options of the constructor; statistics().order has the order of a restored state.
  [[nodiscard]] const LoaderOptions& options() const;

  // Number of batches of a whole epoch on this rank; with Tail::exact without empty ones.
  [[nodiscard]] int64_t num_batches() const;

  // Starts `epoch` from its beginning and drops the rest of the current one. After a complete
  // epoch, the next one has already been read ahead (see read_ahead_epochs). If it throws, state()
  // does not change, and next() continues from there.
  void set_epoch(int64_t epoch);
  // Returns the next batch in order, or nothing at the end of the epoch. Blocks until the batch is
  // ready. Begins epoch 0 if no epoch was started. Throws the Error of a bad sample or a failed
  // read. Then the epoch cannot continue, but another one can be started.
  std::optional<Batch> next();

  // Whether next() would return, or throw, without blocking.
  [[nodiscard]] bool ready() const;
  // Waits until ready(), at most for `limit` (0 or less: not at all), and returns ready(). Begins
  // epoch 0 if no epoch was started. Throws Error(invalid_argument) if held_batches are held, and
  // Error(io) if the file system hangs.
  bool wait_for(std::chrono::nanoseconds limit);

  // Whether all batches of the current epoch have been taken: next() would return nothing.
  [[nodiscard]] bool at_end() const;

  // Batches that next() has returned and that still exist; at most held_batches.
  [[nodiscard]] int64_t num_held_batches() const;

  // The state after the batches that next() has returned.
  [[nodiscard]] LoaderState state() const;
  // Continues from `state`: the following next() begins with the first sample not yet consumed.
  // With Order::automatic, the loader uses the order of the state, shuffled or windowed, from now
  // on; so a run that began with a local copy continues with a store and the same records. Throws
  // Error(invalid_argument) if the state belongs to another data set, seed, order or epoch size. If
  // it throws, state() does not change.
  void restore(const LoaderState& state);

  // Upper bound in bytes of slabs, read buffers and records being decoded. Fixed at construction.
  // All decoding threads together take at most twice ShardReaderOptions::max_record_bytes for
  // records of more than 4 MiB. Not included are:
  // - for each thread, the pixels of the largest region of a picture decoded so far (3 bytes a
  // pixel);
  // - for each of prefetch_batches + held_batches batches, up to four times the bytes of the texts
  //   (copy_string()) of the largest batch that was in its place so far. Half of that is touched;
  // - of a data set in a store, blocks underway, and without a cache up to 1.25 GiB a process of
  //   blocks that were announced and not read yet.
  [[nodiscard]] int64_t memory_bound() const;
  // Counted since the loader was made. Any thread may call this, also while another is in next().
  [[nodiscard]] LoaderStatistics statistics() const;
  // Counted since the last set_epoch(), restore() or first next(). Read-ahead counts in the epoch
  // during which it was done. For the consumer's thread.
  [[nodiscard]] LoaderStatistics epoch_statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
