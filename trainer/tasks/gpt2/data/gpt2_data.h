// What GPT-2 wants from token data.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>

#include <ffkit/text/token_loader.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/task_facts.h>

#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

// The number of positions: --positions, or that of --arch; 1 for an unknown arch.
int64_t configured_positions(const Gpt2Options& options);
// The network of the options, for data with `vocabulary` tokens; 0: without data, the arch's
// number. Throws Error(invalid_argument) for a --vocabulary below the data's, and for sizes that
// make no network.
Gpt2Config configured_network(const Gpt2Options& options, int64_t vocabulary);
int64_t configured_context(const Gpt2Options& options);

// Why records of `schema` are none to train GPT-2 on; empty: they are.
std::string gpt2_misfit(const Schema& schema);

// What a checkpoint keeps about the data.
struct Gpt2Facts {
  int64_t vocabulary = 0;      // of the data; 0: no data
  std::string tokenizer = {};  // the text of its tokenizer.json; empty: not known

  static std::vector<std::string> names() { return {"vocabulary", "tokenizer"}; }
  TaskFacts to_facts() const;
  // Throws Error(corrupt).
  static Gpt2Facts of(const TaskFacts& facts);
  // The facts of a data set. Throws as token_facts() and stored_tokenizer().
  static Gpt2Facts of_data(const TrainOptions& options, const Dataset& split);
};

// Batches of "tokens" [N, context + 1] i64, and for documents "counts" [N, context] bool, which
// targets count.
class TokenSource final : public BatchSource {
 public:
  // `limit_batches` cuts every epoch; 0: none.
  TokenSource(Dataset split, text::TokenLoaderOptions options, int64_t limit_batches,
              c10::Device device);

  int64_t num_batches() const override;
  void start_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override;
  LoaderState state() const override { return loader_.state(); }
  std::optional<DeviceBatch> next() override;
  double wait_seconds() const override { return wait_seconds_; }

 private:
  text::TokenLoader loader_;
  const int64_t limit_batches_;
  const c10::Device device_;
  int64_t num_returned_ = 0;
  double wait_seconds_ = 0;
};

text::TokenLoaderOptions token_loader_options(const TrainOptions& options,
                                              const ProcessPlace& place, bool is_training);

}  // namespace ffkit
