// Loader: batches of decoded samples from a Dataset, in order, as fast as disk and decoder allow.
//
//   Sampler ─▶ reads (io_uring | pread) ─▶ decode + augment (threads) ─▶ slab of its batch ─▶ next()
//
// One I/O thread and `num_threads` decoding ones work ahead of the consumer by up to `prefetch_batches`. Batches are the same to
// the byte for any number of threads and either I/O engine. After construction no memory is allocated per batch but for
// what image libraries need inside.
//
// Thread safety: a Loader belongs to one consumer thread; batches may be kept and destroyed anywhere. Destroying a Loader at any time
// is immediate: reads in flight are waited for, the rest is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/batch_mixing.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_statistics.h>
#include <ffkit/loader/sampler.h>
#include <ffkit/loader/slab_allocator.h>
#include <ffkit/loader/transform.h>

namespace ffkit {

enum class IoEngine {
  automatic,  // io_uring where the kernel allows it, else pread (said once in the log)
  io_uring,   // Error(unsupported) where it is refused
  pread,      // a pool of threads; what the page cache holds is read without them
};

enum class DirectIo {
  automatic,  // O_DIRECT when the split is larger than half of the memory (the machine's, or its container's limit) and the file system takes it
  on,         // O_DIRECT; Error(unsupported) where the file system does not take it
  off,        // through the page cache
};

struct IoOptions {
  IoEngine engine = IoEngine::automatic;
  DirectIo direct = DirectIo::automatic;
  int queue_depth = 64;  // reads in flight, 1 .. 4096
  // Read buffers in use, from submission to the end of decoding, >= 64 KiB; one record may exceed it alone.
  int64_t max_bytes_in_flight = 64LL << 20;
  int num_retries = 3;  // of a read that fails with EIO, 0 .. 1000
  // io_uring with a kernel thread that takes the reads, so that submitting needs no system call; it keeps a core busy while there are
  // any. Error(unsupported) where the kernel refuses it to IoEngine::io_uring, a line in the log under automatic.
  bool sqpoll = false;
  // Through the page cache: what it holds is copied by the decoding threads, the I/O thread reads the rest. False: it reads all.
  bool decoders_read_cache = true;
};

// A bad sample is a record whose checksum, fields or image are broken, whose image or label is null, or which the disk cannot read
// (EIO, io.num_retries times, and then alone). A file that was cut is none: that always fails.
enum class BadSamples {
  fail,  // next() throws the Error of the first bad sample of the batch
  skip,  // replaced by a sample that depends on (seed, epoch, record) alone; counted, logged, and named by Batch::replacements()
};

struct LoaderOptions {
  int64_t batch_size = 256;  // per rank
  SamplerOptions sampler;
  // What a batch holds: the image and the label of classification data (empty: not), under their fields' names, ...
  std::string image_field = "image";
  ImageOptions image;
  std::string label_field = "label";
  // MixUp and CutMix of the finished batch's images; see Batch::mix_lambda().
  BatchMixing mixing;
  // ... and anything else, by decoders of the user's own or those of field_decoder.h.
  std::vector<BatchField> fields;
  int num_threads = 0;       // decoding threads; 0: all cores this process may use
  int prefetch_batches = 3;  // batches prepared ahead of the consumer, >= 1
  int held_batches =
      2;  // batches the consumer may hold at the same time, >= 1; one more and next() throws
  bool verify_checksums = true;  // of every record read
  BadSamples bad_samples = BadSamples::fail;
  IoOptions io;
  // The last batches of an epoch are followed by the first ones of the next, so that start_epoch(e + 1) after epoch e waits for nothing.
  // For consumers that take another way through the epochs it is wasted work.
  bool read_ahead_epochs = true;
  std::shared_ptr<SlabAllocator> allocator;  // null: default_slab_allocator()
};

// Where a loader is; enough to go on with exactly the next sample, also with other batch sizes, threads or world sizes.
struct LoaderState {
  std::string fingerprint;  // of the data set
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  // samples of the epoch consumed by all ranks together
  bool operator==(const LoaderState&) const = default;
};

class Loader {
 public:
  // Throws Error(invalid_argument) for options out of range and fields of the wrong type, Error(not_found) for fields the data set lacks,
  // Error(unsupported) for I/O that is not available.
  Loader(Dataset dataset, LoaderOptions options);
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  const Dataset& dataset() const;
  const LoaderOptions& options() const;

  // Batches of a whole epoch on this rank; under Tail::exact without those in which this rank's share is empty.
  int64_t num_batches() const;

  // Starts `epoch` from its beginning, dropping what is left of the present one. The epoch after one that was taken to its end has
  // been read ahead (see read_ahead_epochs).
  void start_epoch(int64_t epoch);
  // The next batch in order, or nothing at the end of the epoch. Blocks until it is ready. Begins epoch 0 when none was
  // started. Throws the Error of a bad sample or a failed read; the epoch cannot be continued after that, but another one can be
  // started.
  std::optional<Batch> next();

  // Whether next() would return without blocking.
  bool ready() const;

  // The state after the batches that next() has returned.
  LoaderState state() const;
  // Goes on from `state`: the following next() returns the first sample not yet consumed. Throws Error(invalid_argument) when the
  // state belongs to another data set or seed.
  void restore(const LoaderState& state);

  // Upper bound in bytes on slabs and read buffers, fixed at construction. On top come, for each thread, the pixels of the largest
  // image region decoded so far (3 bytes a pixel), the largest record that was in the page cache and, while it is read, a record larger than io.max_bytes_in_flight.
  int64_t memory_bound() const;
  LoaderStatistics statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
