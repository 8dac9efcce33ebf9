// WholeState: the tensors of a run that its processes share, and the whole ones that checkpoints
// and files of weights hold: parameters that a task divides (ParameterParts), and what an optimiser
// or an average keeps of each.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/trainer/task.h>

#include "checkpoint/checkpoint_parts.h"
#include "checkpoint/weights.h"
#include "distributed/mesh.h"

namespace ffkit {

// `own`: tensors of this process by name, "model.transformer.wte.weight"; of divided ones the
// parts, under names that end with a parameter's. Not thread-safe.
class WholeState {
 public:
  // `parts` may be null: then all processes have all parameters. `sharded`: the model whose
  // optimiser's state is divided among the processes that share the samples (DividedOptimizer);
  // null: it is not. All outlive this.
  WholeState(const RunMesh& mesh, const ParameterParts* parts, const Model* sharded = nullptr);

  // Whether checkpoints are in parts.
  bool is_divided() const { return parts_ != nullptr; }

  // All of `own` with their places in the whole tensors.
  std::vector<SharedTensor> shares(const std::vector<NamedTensor>& own) const;
  // Those of `own` that this process writes. All processes together write each number of each
  // parameter once.
  std::vector<SharedTensor> to_write(const std::vector<NamedTensor>& own) const;
  // The tensors of no parameter. All processes have them alike.
  std::vector<NamedTensor> others(const std::vector<NamedTensor>& own) const;

  // The values of a checkpoint, of one file or in parts, for `own` of all processes. Collective.
  // If parameters are divided and the checkpoint is in parts, each process reads what it needs;
  // otherwise rank 0 alone reads. Throws as load_checkpoint() on a process that reads, Error(io) on
  // the others.
  void load_checkpoint(const std::filesystem::path& checkpoint,
                       const std::vector<NamedTensor>& own) const;
  // As load_weights() into `model`, which rank 0 alone does; then all have them. Notes are those of
  // rank 0. Collective.
  void load(const Weights& weights, const WeightRules& rules, Model& model, HeadPolicy policy,
            std::vector<std::string>* notes = nullptr) const;

  // On rank 0 the whole tensors of all processes' `own`, to read into; elsewhere nothing.
  // Undivided: `own`.
  std::vector<NamedTensor> to_fill(const std::vector<NamedTensor>& own) const;
  // Rank 0's `whole` to `own` of all processes, in place. Collective.
  void spread(const std::vector<NamedTensor>& whole, const std::vector<NamedTensor>& own) const;

 private:
  // What stands before the names of parameters: "model.", "optimizer.exp_avg.".
  std::vector<std::string> prefixes(const std::vector<NamedTensor>& own) const;
  // The parameter that a name ends with; empty: none.
  std::string parameter_of(const std::string& name) const;
  // The share of the tensor `name`, which belongs to `parameter`.
  TensorShare share_of(const std::string& name, const std::string& parameter) const;
  // Whether there is such a tensor: on some process where the task divides the network, else in
  // `own` of each.
  bool has_tensor(const std::vector<NamedTensor>& own, const std::string& name) const;
  // Whether the processes along "data" have different rows of it.
  bool has_rows(const std::string& name) const;

  const RunMesh& mesh_;
  const bool is_optimizer_sharded_;
  std::shared_ptr<const ParameterParts> all_;  // where the task divides nothing
  const ParameterParts* const parts_;
};

// Whole tensors as a model, for what reads weights into one.
class WholeModel final : public Model {
 public:
  // Under the names of a model's parameters.
  explicit WholeModel(std::vector<NamedTensor> parameters) : parameters_(std::move(parameters)) {}
  void set_training(bool) override {}
  void use_channels_last() override {}
  void to(c10::Device) override {}
  void synchronise_batch_norm(Communicator&) override {}
  std::vector<NamedTensor> parameters() const override { return parameters_; }
  std::vector<NamedTensor> buffers() const override { return {}; }

 private:
  std::vector<NamedTensor> parameters_;
};

}  // namespace ffkit
