// Words for samples in all rooms: their order, and the treatment of bad ones. Pure functions.
#pragma once

#include <string_view>

#include <ffkit/base/enum_names.h>

namespace ffkit {

enum class Order {
  sequential,  // record order; of a conversion, every split in the order of its source
  // Another permutation each epoch, keyed by (seed, epoch); of a conversion, training splits in a
  // permutation given by the seed, so that reading in order already mixes classes, and others in
  // the order of the source. A conversion has only these two.
  shuffle,
  // For disks and network file systems with slow random reads. In each epoch, the records are
  // divided into blocks of `window_block` neighbours, and the blocks are permuted. Each
  // `window_blocks` consecutive blocks are a window; the records of a window are permuted. So only
  // window_blocks places in the files are read at a time; the bytes of a window should fit into the
  // page cache.
  //
  // Records are mixed less. If records are sorted by class (N classes with at least window_block
  // records each), two successive samples have the same class with probability about 1/W + (1 -
  // 1/W) / N, W = window_blocks; with a full shuffle 1/N. For N = 1000:
  //   W              4      16     64     256    1024
  //   same class     25 %   6.3 %  1.7 %  0.5 %  0.2 %      full shuffle: 0.1 %
  // With W = 64, a batch of 256 comes from about 64 * (1 - (1 - 1/64)^256) = 63 blocks, of 61
  // classes; fully shuffled it has 226 classes. If the conversion shuffled the records, as it does
  // for training splits by default, this does not matter.
  //
  // For data sets in stores, a block may be given in bytes (window_block_bytes), and the records
  // may come in several streams (num_streams).
  windowed,
  // Drawn with replacement, with probabilities in proportion to `weights`, keyed by (seed, epoch,
  // position).
  weighted,
  // A shuffled order that fits the place of the data. If a shard is in a store, a Loader uses
  // `windowed`, by default in blocks of kStoreBlockBytes and world_size streams; otherwise, and
  // with groups, buckets or a mixture, it uses `shuffle`. A Sampler without Loader uses `shuffle`.
  // A Loader that restores a state uses the order of the state.
  automatic,
};
template <>
inline constexpr auto kNames<Order> = enum_names<Order>("order", {{Order::sequential, "sequential"},
                                                                  {Order::shuffle, "shuffle"},
                                                                  {Order::windowed, "windowed"},
                                                                  {Order::weighted, "weighted"},
                                                                  {Order::automatic, "automatic"}});

// The treatment of a sample that cannot be read or decoded.
enum class BadSamples {
  fail,  // the work ends with the Error of the first one, in the order of the samples
  // A conversion leaves it out, counts it, and names it in DST/report.jsonl. In a Loader, another
  // sample replaces it (loader_options.h).
  skip,
  // Only for conversions: a broken picture is stored as it is; other unreadable samples are left
  // out. DST/report.jsonl names both.
  keep,
};
template <>
inline constexpr auto kNames<BadSamples> = enum_names<BadSamples>("bad_samples",
                                                                  {{BadSamples::fail, "fail"},
                                                                   {BadSamples::skip, "skip"},
                                                                   {BadSamples::keep, "keep"}});

}  // namespace ffkit
