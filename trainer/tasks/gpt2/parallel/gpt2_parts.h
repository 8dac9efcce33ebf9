// A GPT-2 over several processes: which has what of it, and how a batch goes through its stages.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/trainer/task.h>

#include "tasks/gpt2/network/gpt2_network.h"

namespace ffkit {

// Gpt2Parts: which process has what of a GPT-2 that is divided along "pipeline" and "tensor".
//
// Ranks: stage * tensor + the place along "tensor".
class Gpt2Parts final : public ParameterParts {
 public:
  Gpt2Parts(const Gpt2Config& config, int tensor, int pipeline)
      : config_(config), tensor_(tensor), pipeline_(pipeline) {}

  std::vector<std::string> names() const override;
  std::vector<int64_t> whole_shape(const std::string& name) const override;
  std::vector<int> holders(const std::string& name) const override;
  TensorCut cut(const std::string& name, int rank) const override;

 private:
  // The first stage that has a parameter.
  int stage_of(const std::string& name) const;

  const Gpt2Config config_;
  const int tensor_, pipeline_;
};

// A GPT-2 in stages: a batch goes through them in micro-batches, one forward pass after one
// backward pass where a stage has both to do (1F1B; Narayanan et al., "Efficient Large-Scale
// Language Model Training on GPU Clusters", 2021), so that a stage keeps the activations of no more
// micro-batches than there are stages.

// The share of a step in which a stage waits, where forward and backward passes take all stages
// equally long: (P - 1) / (M + P - 1).
double bubble_share(int64_t stages, int64_t micro_batches);

// What a stage measured of staged_loss() on a CPU, where waiting blocks the thread.
struct PipelineTime {
  double seconds = 0;  // of all calls
  double waited = 0;   // of these, for other stages
};

// Without gradients: the sum over `targets` of their losses (Gpt2Network::loss_sum), on all stages;
// [] of at least f32. tokens, targets [B, S].
at::Tensor staged_loss_sum(Gpt2Network& network, const at::Tensor& tokens,
                           const at::Tensor& targets);

// Forward and backward passes of `micro_batches` equal pieces of a batch. The result is the loss
// times `factor`, [] on all stages, whose backward pass gives this stage's parameters the gradients
// that were found. `passes`: of each piece. `scale`: what the result is multiplied by before its
// backward pass, [1]; here, the passes run with the loss times that. Undefined: 1. Adds to `time`,
// unless it is null.
at::Tensor staged_loss(Gpt2Network& network, const at::Tensor& tokens, const at::Tensor& targets,
                       double factor, const std::vector<Gpt2Network::Pass>& passes,
                       const at::Tensor& scale = {}, PipelineTime* time = nullptr);

}  // namespace ffkit
