// What GPT-2 wants from token data, and the weights that it begins with.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/text/token_loader.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/task_options.h>

#include "checkpoint/checkpoint.h"
#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

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
  void set_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override;
  LoaderState state() const override { return loader_.state(); }
  std::optional<DeviceBatch> next() override;
  bool wait_for_batch() override;
  double wait_seconds() const override { return wait_seconds_; }

 private:
  text::TokenLoader loader_;
  const int64_t limit_batches_;
  const c10::Device device_;
  int64_t num_returned_ = 0;
  double waited_before_ = 0;  // for the next one
  double wait_seconds_ = 0;
};

text::TokenLoaderOptions token_loader_options(const TrainOptions& options,
                                              const ProcessPlace& place, bool is_training);

// What a file of weights says about its network: config.json beside them, or the run's
// options. fftrain (--pretrained, --evaluate) and ffgenerate read it here.

struct WeightsSource {
  std::filesystem::path file;         // of the weights, or the checkpoint
  std::filesystem::path config_file;  // what says it: config.json, or the checkpoint
  std::optional<Gpt2Config> config;   // none: weights alone, with no config.json beside them
  std::optional<CheckpointInfo> run;  // none: of no run of fftrain
};

// `path`: a folder of Hugging Face's, a file of weights, a checkpoint or a work folder. Throws
// Error(invalid_argument) for the run of another task, and what reading the files throws.
WeightsSource find_gpt2_weights(const std::filesystem::path& path);

// Takes from `weights`, which a run begins with or which are evaluated, what the options leave
// open. Throws Error(invalid_argument) where they contradict it, and as find_gpt2_weights().
void take_gpt2_settings(Gpt2Options& options, const std::filesystem::path& weights);

// Throws Error(invalid_argument) unless `weights`, where their network is known, are of `config`,
// but for its number of tokens where `any_vocabulary` says so. Weights do not say all: another
// number of heads has the same tensors.
void check_gpt2_config(const std::filesystem::path& weights, const Gpt2Config& config,
                       bool any_vocabulary = false);

// Rows of an embedding belong to tokens: throws Error(invalid_argument) where a tokenizer lies
// beside `weights` (or in their run) whose tokens have other numbers than those of `tokenizer`, the
// text of a tokenizer.json. Only numbers that both have are compared.
void check_same_tokens(const std::filesystem::path& weights, const std::string& tokenizer);

// Gives the embedding among `tensors` `vocabulary` rows: rows of new tokens are the mean of the
// others (Hewitt, "Initializing New Word Embeddings for Pretrained Language Models", 2021), and
// rows beyond are left out.
void resize_gpt2_vocabulary(std::vector<NamedTensor>& tensors, int64_t vocabulary);

// Gives the tensors of `file` the names of Gpt2Network. The first files of GPT-2 lack
// "transformer." before their names. Left out are the masks of attention that old files hold, and
// an lm_head.weight that is transformer.wte.weight. Throws Error(unsupported) when it is another
// one.
void name_gpt2_tensors(const std::string& file, std::vector<NamedTensor>& tensors);

}  // namespace ffkit
