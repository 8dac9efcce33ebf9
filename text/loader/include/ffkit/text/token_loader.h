// TokenLoader: batches of token sequences from a data set that `ffconvert text` wrote.
//
//   stream      blocks in another order each epoch, and the documents of each block, too; all of them behind each other, with end-of-text between them;
//               every `context` tokens a sample begins, of context + 1 tokens: inputs are the first ones, targets the last ones
//   documents   a sample is one document, cut to context + 1 tokens, or padded with end-of-text; loss_mask says which targets count
//
// Samples are shuffled in windows of neighbouring blocks (window_tokens), so that a block is read
// about once an epoch and not once a sample. All follows from (seed, epoch): the sequence of
// samples is the same for every world size, and batches are dealt to ranks as Sampler says.
//
// At the start the numbers of tokens of all blocks are read, 8 bytes for about 65,000 tokens, and
// no document. Reads are done by the thread that calls next(), from pages that the kernel was asked
// for a window ahead. Each record is checked by its checksum when it is read.
//
// Not thread-safe. Batches are values, and own their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader_state.h>
#include <ffkit/loader/sampler.h>

namespace ffkit {

enum class TokenSamples {
  stream,     // cross the borders of documents
  documents,  // one document each, padded
};

struct TokenLoaderOptions {
  int64_t batch_size = 8;  // samples, per rank; >= 1
  int64_t context = 1024;  // >= 1
  TokenSamples samples = TokenSamples::stream;
  // false: blocks and documents as they are stored, samples one after the other, the same in all
  // epochs.
  bool shuffle = true;
  // Neighbouring samples in the epoch's order of blocks, about this many tokens of them, are
  // shuffled among each other. Twice as much is kept in memory, 2 or 4 bytes a token. More than the
  // data set has: any sample may follow any other.
  int64_t window_tokens = 1 << 24;
  Tail tail = Tail::drop;
  uint64_t seed = 0;
  int rank = 0;        // 0 .. world_size-1
  int world_size = 1;  // processes that share the epoch: of a mesh, those along "data"
};

struct TokenBatch {
  int64_t size = 0;     // N
  int64_t context = 0;  // C
  // [N, C + 1] row-major. Inputs of sample n are tokens[n][0 .. C-1], targets tokens[n][1 .. C].
  std::vector<int64_t> tokens;
  // [N, C] row-major, 1 where the target tokens[n][c + 1] counts, else 0. Empty for
  // TokenSamples::stream, where all of them do.
  std::vector<uint8_t> loss_mask;
  // [N] numbers of the samples in the epoch's stream, before they were shuffled: of documents,
  // their number in the epoch's order.
  std::vector<int64_t> samples;
};

class TokenLoader {
 public:
  // `dataset`: a split, or a subset of its blocks. Throws Error(invalid_argument) for options out
  // of range, for a data set that is none of tokens, for a context longer than all of it, and for
  // fewer samples than a step of all ranks takes (Tail::drop).
  TokenLoader(Dataset dataset, TokenLoaderOptions options);
  ~TokenLoader();
  TokenLoader(TokenLoader&&) noexcept;
  TokenLoader& operator=(TokenLoader&&) noexcept;

  const Dataset& dataset() const;
  const TokenLoaderOptions& options() const;
  int64_t vocabulary_size() const;
  uint32_t end_of_text() const;
  int64_t num_tokens() const;  // of the data set
  int64_t num_documents() const;
  // Of an epoch, all ranks together: floor((num_tokens() - 1) / context), or num_documents().
  int64_t num_samples() const;
  // Of an epoch on this rank; under Tail::exact without those in which its share is empty.
  int64_t num_batches() const;

  // Starts `epoch` from its beginning.
  void start_epoch(int64_t epoch);
  // The next batch, or nothing at the end of the epoch. Begins epoch 0 when none was started.
  // Throws Error(corrupt) that names shard and record, or Error(io).
  std::optional<TokenBatch> next();

  // The state after the batches that next() has returned: position counts samples of all ranks.
  LoaderState state() const;
  // Goes on from `state`, also with another batch size, rank or world size. Throws
  // Error(invalid_argument) when it belongs to another data set, seed, context, kind of samples or
  // window.
  void restore(const LoaderState& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
