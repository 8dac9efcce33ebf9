// LoaderOptions: what a batch holds, from which samples it is made, and how.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/image/image_options.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/io_options.h>
#include <ffkit/loader/mix_options.h>
#include <ffkit/loader/sampler.h>
#include <ffkit/loader/slab_allocator.h>

namespace ffkit {

// A bad sample is a record whose checksum, fields or image are broken, whose image or label is
// null, which is longer than ShardReaderOptions::max_record_bytes, or which the disk cannot read
// (EIO, io.num_retries times, and then alone). An image that is truncated is bad whatever its crop;
// other damage of its data counts where it is decoded. Damage to a whole shard is not, and always
// fails, because nobody could tell how many records it takes along: a truncated file, a damaged or
// unreadable index or dictionary. Such Errors are about ErrorSubject::shard or dataset.
enum class BadSamples {
  fail,  // next() throws the Error of the first bad sample of the batch
  // Replaced by a sample that depends on (seed, epoch, record) alone and is one that the sampler
  // could give (Sampler::replacement()); counted, logged, and named by Batch::replacements().
  // next() throws when 16 tried for one place are bad too.
  skip,
};

struct LoaderOptions {
  int64_t batch_size =
      256;  // per rank; Tail::drop, the default, takes an epoch that fills one on each rank
  SamplerOptions sampler = {};
  // What a batch holds: the image and the label of classification data (empty: not), under their
  // fields' names, ...
  std::string image_field = "image";
  ImageOptions image = {};
  std::string label_field = "label";
  // MixUp and CutMix of the finished batch's images; see Batch::mix_lambda().
  MixOptions mixing = {};
  // ... and anything else, by decoders of the user's own or those of field_decoder.h.
  std::vector<BatchField> fields = {};
  int num_threads = 0;       // decoding threads; 0: all cores this process may use
  int prefetch_batches = 3;  // batches prepared ahead of the consumer, >= 1
  int held_batches =
      2;  // batches the consumer may hold at the same time, >= 1; one more and next() throws
  bool verify_checksums = true;  // of every record read
  BadSamples bad_samples = BadSamples::fail;
  IoOptions io = {};
  // The last batches of an epoch are followed by the first ones of the next, so that start_epoch(e
  // + 1) after epoch e waits for nothing. For consumers that take another way through the epochs it
  // is wasted work.
  bool read_ahead_epochs = true;
  std::shared_ptr<SlabAllocator> allocator = nullptr;  // null: default_slab_allocator()
  // Takes the loader's warnings, a line without its end each, such as that a record was replaced.
  // Called by any of the loader's threads, by several at once too; must not call the loader. What
  // it throws is dropped. Null: they go to spdlog's default logger.
  std::function<void(std::string_view)> on_warning = nullptr;
};

}  // namespace ffkit
