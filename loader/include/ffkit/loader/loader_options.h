// LoaderOptions: the contents of a batch, its samples, and how it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/samples.h>
#include <ffkit/image/image_options.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/io_options.h>
#include <ffkit/loader/sampler.h>
#include <ffkit/loader/slab_allocator.h>
#include <ffkit/loader/view.h>

namespace ffkit {

// MixOptions: MixUp and CutMix, which blend each sample of a finished batch with the one before it
// (the first with the last), labels included. torchvision.transforms.v2.MixUp and CutMix.
// An alpha of 0 turns the method off. If both are above 0, each batch uses one of them with
// probability 1/2, as in torchvision's reference training.
struct MixOptions {
  double mixup_alpha = 0;  // lambda ~ Beta(alpha, alpha); 0.2 in torchvision's recipes
  // 1 - (share of the picture that the box covers) ~ Beta(alpha, alpha), before the box is cut off
  // at the border; 1.0 in torchvision's recipes
  double cutmix_alpha = 0;

  [[nodiscard]] bool is_on() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};

// Throws Error(invalid_argument) naming the first value that is out of range: 0 .. 1000 each.
void validate(const MixOptions& options);

// A bad sample is a record
// - whose checksum, fields or picture are broken,
// - whose picture or label is null,
// - which is longer than ShardReaderOptions::max_record_bytes, or
// - which the disk cannot read (EIO io.num_retries times, and again when it is read alone).
// A truncated picture is bad for any crop. Other damage of a picture counts only if it is decoded.
// Damage to a whole shard is not a bad sample and always fails, because an unknown number of
// records is lost: a truncated file, a damaged or unreadable index or dictionary. Such Errors have
// ErrorSubject::shard or dataset.
//
// Under BadSamples::fail, next() throws the Error of the first bad sample of the batch. Under skip,
// another sample replaces it, see Sampler::replacement(). The choice depends only on (seed, epoch,
// record). Replacements are counted, logged, and listed by Batch::replacements(). If 16 candidates
// for one place are bad, too, next() throws. With Order::sequential without groups and Tail::exact
// or Tail::balanced, each record counts once; then the sample is left out instead: counted, logged,
// and listed by Batch::left_out(). The number of batches stays; a batch may be empty.

// How much memory batches take.
struct MemoryOptions {
  int prefetch_batches = 3;  // batches prepared ahead of the consumer, >= 1
  // Batches that the consumer may hold at the same time, >= 1. With more, next() throws.
  int held_batches = 2;
  std::shared_ptr<SlabAllocator> allocator = nullptr;  // null: default_slab_allocator()
};

struct LoaderOptions {
  // Per rank. With Tail::drop, the default, an epoch must fill one batch on each rank.
  int64_t batch_size = 256;
  SamplerOptions sampler = {};
  // Arrays of a batch: the picture and the label of classification data, under the names of their
  // fields (empty: without), ...
  std::string image_field = "image";
  ImageOptions image = {};
  std::string label_field = "label";
  // Views of the picture, instead of the array that `image` makes, ...
  std::vector<View> views = {};
  // ... and arrays that follow the geometry of a view: masks, boxes, points, further pictures.
  std::vector<ViewField> view_fields = {};
  // MixUp and CutMix of the finished batch's pictures; see Batch::mix_lambda().
  MixOptions mixing = {};
  // ... and further arrays, by the user's decoders or those of field_decoder.h.
  std::vector<BatchField> fields = {};
  int num_threads = 0;  // decoding threads; 0: all cores this process may use
  MemoryOptions memory = {};
  BadSamples bad_samples = BadSamples::fail;  // or skip
  IoOptions io = {};
  // Takes the loader's warnings, for example that a record was replaced, each one line without its
  // end. Several threads of the loader may call it at once. It must not call the loader. Its
  // exceptions are ignored. Null: warnings go to spdlog's default logger.
  std::function<void(std::string_view)> on_warning = nullptr;
};

}  // namespace ffkit
