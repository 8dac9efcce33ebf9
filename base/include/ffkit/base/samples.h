// What every room says of samples in the same words: in which order they come, and what becomes of
// a bad one. Pure functions.
#pragma once

#include <string_view>

namespace ffkit {

enum class Order {
  sequential,  // record order; of a conversion, every split in the order of its source
  // Another permutation each epoch, keyed by (seed, epoch); of a conversion, training splits in a
  // permutation given by the seed, so that reading in order already mixes classes, and others in
  // the order of the source. A conversion knows these two alone.
  shuffle,
  // For disks and network file systems that dislike random reads. The records are cut into blocks
  // of `window_block` neighbours, the blocks are permuted, and within each `window_blocks` blocks
  // in a row, a window, the records are permuted; all of it anew each epoch. While a window is
  // read, only its window_blocks stretches of the files are touched; its bytes should fit into the
  // page cache.
  //
  // The price is mixing. With records sorted by class, N classes of at least window_block records
  // each, two successive samples are of the same class with probability about 1/W + (1 - 1/W) / N,
  // W = window_blocks, where a full shuffle has 1/N. For N = 1000:
  //   W              4      16     64     256    1024
  //   same class     25 %   6.3 %  1.7 %  0.5 %  0.2 %      full shuffle: 0.1 %
  // With W = 64 a batch of 256 comes from about 64 * (1 - (1 - 1/64)^256) = 63 blocks, of 61
  // classes; fully shuffled it has 226 classes. Records that were shuffled when they were
  // converted, as training splits are by default, lose nothing.
  //
  // For data sets in stores, a block may be given in bytes (window_block_bytes), and the records
  // may come in several streams (num_streams).
  windowed,
  // Drawn with replacement, with probabilities in proportion to `weights`, keyed by (seed, epoch,
  // position).
  weighted,
  // A shuffled order as the place of the data asks for it. A Loader takes `windowed` over a data
  // set of which a shard is in a store, in blocks of kStoreBlockBytes and in world_size streams
  // where nothing else is given; and `shuffle` over all others, and with groups, buckets or a
  // mixture. A Sampler by itself takes `shuffle`. A Loader that restores a state takes the order of
  // the state, whichever of the two that is.
  automatic,
};
std::string_view to_string(Order order);
// Inverse of to_string; throws Error(invalid_argument).
Order parse_order(std::string_view name);

// What becomes of a sample that cannot be read or decoded.
enum class BadSamples {
  fail,  // the work ends with the Error of the first one, in the order of the samples
  // A conversion leaves it out, counts it, and names it in DST/report.jsonl. A Loader gives another
  // sample its place (loader_options.h).
  skip,
  // Of a conversion alone: a picture's file is taken as it is, which training will have to cope
  // with; what cannot be read at all is left out. Both are named in DST/report.jsonl.
  keep,
};
std::string_view to_string(BadSamples bad_samples);
// Inverse of to_string; throws Error(invalid_argument).
BadSamples parse_bad_samples(std::string_view name);

}  // namespace ffkit
