// Gpt2Parts: which process has what of a GPT-2 that is divided along "pipeline" and "tensor".
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/task.h>

#include "tasks/gpt2/network/gpt2_network.h"

namespace ffkit {

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

}  // namespace ffkit
