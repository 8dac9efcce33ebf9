// TokenLoader: batches of token sequences from a data set that `ffconvert text` wrote.
//
//   stream      All documents follow each other, with end-of-text between them. Each epoch has
//               another order of the blocks, and of the documents in a block. A sample begins every
//               `context` tokens and has context + 1: the first `context` of them are the inputs,
//               the last `context` the targets.
//   documents   A sample is one document, cut to context + 1 tokens or padded with end-of-text.
//               loss_mask says which targets count.
//
// Samples are shuffled in windows of neighbouring blocks (window_tokens), so a block is read about
// once an epoch, not once a sample. The sequence of samples depends only on (seed, epoch). It is
// the same for every world size; ranks share the batches as in Sampler.
//
// The constructor reads the number of tokens of each block, 8 bytes for about 65,000 tokens, but no
// document. The thread that calls next() reads the records and verifies their checksums. Their
// pages were requested from the kernel one window earlier.
//
// Not thread-safe. Batches are values, and own their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader_state.h>
#include <ffkit/loader/sampler.h>

namespace ffkit {
namespace text {

enum class TokenSamples {
  stream,     // cross the borders of documents
  documents,  // one document each, cut or padded
};

}  // namespace text
template <>
inline constexpr auto kNames<text::TokenSamples> =
    enum_names<text::TokenSamples>("samples", {{text::TokenSamples::stream, "stream"},
                                               {text::TokenSamples::documents, "documents"}});

namespace text {

struct TokenLoaderOptions {
  int64_t batch_size = 8;  // samples, per rank; >= 1
  int64_t context = 1024;  // >= 1
  TokenSamples samples = TokenSamples::stream;
  // False: all epochs have the order in which blocks and documents are stored.
  bool shuffle = true;
  // Samples are shuffled within windows of about this many tokens, in the epoch's order of blocks.
  // Twice as many tokens are kept in memory, at 2 or 4 bytes each. If the data set has fewer, any
  // sample may follow any other.
  int64_t window_tokens = 1 << 24;
  Tail tail = Tail::drop;
  uint64_t seed = 0;
  int rank = 0;        // 0 .. world_size-1
  int world_size = 1;  // processes that share the epoch; in a mesh, those along "data"
};

struct TokenBatch {
  int64_t size = 0;     // N
  int64_t context = 0;  // C
  // [N, C + 1] row-major. Inputs of sample n are tokens[n][0 .. C-1], targets tokens[n][1 .. C].
  std::vector<int64_t> tokens;
  // [N, C] row-major: 1 if the target tokens[n][c + 1] counts, otherwise 0. Empty for
  // TokenSamples::stream, because all targets count.
  std::vector<uint8_t> loss_mask;
  // [N] the samples' numbers in the epoch's stream before shuffling; for documents, in the epoch's
  // order of documents.
  std::vector<int64_t> samples;
};

class TokenLoader {
 public:
  // `dataset` is a split or a subset of its blocks. Throws Error(invalid_argument) for options out
  // of range, a data set without tokens, a context longer than the whole data set, and, with
  // Tail::drop, if there are fewer samples than in a step of all ranks.
  TokenLoader(Dataset dataset, TokenLoaderOptions options);
  ~TokenLoader();
  TokenLoader(TokenLoader&&) noexcept;
  TokenLoader& operator=(TokenLoader&&) noexcept;

  [[nodiscard]] const Dataset& dataset() const;
  [[nodiscard]] const TokenLoaderOptions& options() const;
  [[nodiscard]] int64_t vocabulary_size() const;
  [[nodiscard]] uint32_t end_of_text() const;
  [[nodiscard]] int64_t num_tokens() const;  // of the data set
  [[nodiscard]] int64_t num_documents() const;
  // Of an epoch over all ranks: floor((num_tokens() - 1) / context), or num_documents().
  [[nodiscard]] int64_t num_samples() const;
  // Of an epoch on this rank. Tail::exact leaves out batches in which its share is empty.
  [[nodiscard]] int64_t num_batches() const;

  // Starts `epoch` from its beginning.
  void set_epoch(int64_t epoch);
  // Reads what next() returns, which then does not block. Nothing is lost where a wait for a store
  // is ended (Error(cancelled)).
  void prepare();
  // The next batch, or nothing at the end of the epoch. Begins epoch 0 if none was started. Throws
  // Error(corrupt) that names shard and record, or Error(io).
  std::optional<TokenBatch> next();

  // The state after the batches that next() has returned. Its position counts samples of all ranks.
  [[nodiscard]] LoaderState state() const;
  // Continues from `state`, also with another batch size, rank or world size. Throws
  // Error(invalid_argument) if it belongs to another data set, seed, context, kind of samples or
  // window.
  void restore(const LoaderState& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace text
}  // namespace ffkit
