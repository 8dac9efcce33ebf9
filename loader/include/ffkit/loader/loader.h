// Loader: batches of decoded samples from a Dataset, in order, as fast as disk and decoder allow.
//
//   Sampler ─▶ reads (io_uring | pread) ─▶ decode + augment (threads) ─▶ slab of its batch ─▶ next()
//
// One I/O thread and `num_threads` decoding ones work ahead of the consumer by up to
// `prefetch_batches`. Batches are the same to the byte for any number of threads and either I/O
// engine. After construction no memory is allocated per batch but for what image libraries need
// inside.
//
// Thread safety: a Loader belongs to one consumer thread; batches may be kept and destroyed
// anywhere. Destroying a Loader at any time is immediate: reads in flight are waited for, the rest
// is dropped. Where a file system hangs, they are waited for io.read_timeout_s, and 10 s at most:
// what does not come back by then keeps its threads, and the loader's memory is given up until the
// process ends, since the kernel may still write to it.
//
// A Loader belongs to its process too. In a child after fork() it can only be destroyed (which
// gives its memory up); start_epoch(), restore() and next() throw Error(invalid_argument). Its
// batches can be read there, but must not be destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/loader_state.h>
#include <ffkit/loader/loader_statistics.h>

namespace ffkit {

class Loader {
 public:
  // Throws Error(invalid_argument) for options out of range, fields of the wrong type and an epoch
  // without a batch (Tail::drop), Error(not_found) for fields the data set lacks,
  // Error(unsupported) for I/O that is not available.
  Loader(Dataset dataset, LoaderOptions options);
  ~Loader();
  // Of a loader that was moved from, all functions throw Error(invalid_argument).
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  const Dataset& dataset() const;
  const LoaderOptions& options() const;

  // Batches of a whole epoch on this rank; under Tail::exact without those in which this rank's
  // share is empty.
  int64_t num_batches() const;

  // Starts `epoch` from its beginning, dropping what is left of the present one. The epoch after
  // one that was taken to its end has been read ahead (see read_ahead_epochs). Where it throws,
  // state() is what it was, and next() goes on from there.
  void start_epoch(int64_t epoch);
  // The next batch in order, or nothing at the end of the epoch. Blocks until it is ready. Begins
  // epoch 0 when none was started. Throws the Error of a bad sample or a failed read; the epoch
  // cannot be continued after that, but another one can be started.
  std::optional<Batch> next();

  // Whether next() would return, or throw, without blocking.
  bool ready() const;
  // Waits until that is so, for `limit` at most (0 or less: not at all), and returns whether it is.
  // Begins epoch 0 when none was started. Throws what next() throws before it has a batch:
  // Error(invalid_argument) when held_batches are held, Error(io) when the file system hangs.
  bool wait_for(std::chrono::nanoseconds limit);

  // Whether all batches of the epoch that was begun have been taken: next() would return nothing.
  bool at_end() const;

  // Batches that next() has returned and that are still there; at most held_batches.
  int64_t num_held_batches() const;

  // The state after the batches that next() has returned.
  LoaderState state() const;
  // Goes on from `state`: the following next() returns the first sample not yet consumed. Throws
  // Error(invalid_argument) when the state belongs to another data set, seed, order or epoch size.
  // Where it throws, state() is what it was.
  void restore(const LoaderState& state);

  // Upper bound in bytes on slabs, read buffers and records being decoded, fixed at construction.
  // Decoding threads together take at most twice ShardReaderOptions::max_record_bytes for records
  // of more than 4 MiB. On top come, for each thread, the pixels of the largest image region
  // decoded so far (3 bytes a pixel), and for each of prefetch_batches + held_batches batches the
  // texts of the largest batch that was in its place so far (copy_string()): their bytes up to four
  // times, of which half are touched.
  int64_t memory_bound() const;
  // Since the loader was made. May be called by any thread, also while another one is in next().
  LoaderStatistics statistics() const;
  // Of the present epoch: since start_epoch() or restore(), or the first next(). What was read and
  // decoded ahead counts where it was done, in the epoch before. For the consumer's thread.
  LoaderStatistics epoch_statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
