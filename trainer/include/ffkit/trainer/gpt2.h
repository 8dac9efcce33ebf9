// The task "gpt2": the next token of a text, on token data that `ffconvert text` wrote.
#pragma once

#include <cstdint>
#include <string>

#include <ffkit/text/token_loader.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

struct Gpt2Options : OwnOptions<Gpt2Options> {
  std::string arch =
      "gpt2";  // gpt2, gpt2-medium, gpt2-large, gpt2-xl; gives sizes that are 0 below
  int64_t layers = 0, heads = 0, width = 0;
  int64_t positions = 0;   // longest sequence that the network can take
  int64_t vocabulary = 0;  // 0: the data's
  // Added to variances, 0 <= norm_epsilon < 1. 0: layer_norm_epsilon of the weights that a run
  // begins with, else 1e-5.
  double norm_epsilon = 0;
  // Initial weights may have another number of tokens: rows of new tokens become the mean of the
  // others, and surplus rows are left out.
  bool resize_vocabulary = false;
  double dropout = 0.1;  // 0 <= dropout < 1
  // The backward pass computes the inner activations of layers again instead of keeping them.
  bool recompute = false;
  std::string train_split = "train";
  std::string val_split = "val";
  int64_t context = 0;                                      // tokens of a sample; 0: `positions`
  text::TokenSamples samples = text::TokenSamples::stream;  // of training
  int64_t window_tokens = 1 << 24;  // samples are shuffled among about so many tokens, >= 1

  // The processes are a mesh, data x pipeline x tensor. Neighbours along tensor have neighbouring
  // ranks.
  int64_t data_parallel = 0;    // processes that share the samples; 0: as many as the others leave
  int64_t tensor_parallel = 1;  // processes that share each layer, a divisor of the heads
  // Processes that share a layer also share the positions outside attention and mlp. Needs
  // tensor_parallel > 1, a divisor of the context.
  bool sequence_parallel = false;
  int64_t pipeline_parallel = 1;  // processes that have some of the layers each
  int64_t micro_batches = 1;  // pieces in which a batch goes through a pipeline; a divisor of it

  void describe(OptionTable& table, const TrainOptions& general) override;
};

// The task's options in `options`. Without options of a task, `options` get gpt2's defaults.
inline Gpt2Options& gpt2(TrainOptions& options) {
  return options.task_options<Gpt2Options>();
}
inline const Gpt2Options& gpt2(const TrainOptions& options) {
  return options.task_options<Gpt2Options>();
}

}  // namespace ffkit
