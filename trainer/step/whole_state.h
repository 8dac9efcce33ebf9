// WholeState: parameters, and what an optimiser or an average keeps of each, between the processes of a run, where a task divides them (ParameterParts), and
// the whole tensors that rank 0 reads and writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ffkit/trainer/task.h>

#include "checkpoint/weights.h"
#include "step/run_mesh.h"

namespace ffkit {

// Calls are collective over all processes. `own`: tensors of this process by name, "model.transformer.wte.weight"; of divided ones the parts, under names that end with a
// parameter's. Not thread-safe.
class WholeState {
 public:
  // `parts` may be null: then all processes have all tensors. Both outlive this.
  WholeState(const RunMesh& mesh, const ParameterParts* parts) : mesh_(mesh), parts_(parts) {}

  // On rank 0 all tensors, whole; elsewhere nothing. Without parts: `own`, and no call.
  std::vector<NamedTensor> gather(const std::vector<NamedTensor>& own) const;
  // On rank 0 tensors like those of gather(), to read into; elsewhere nothing. Without parts: `own`.
  std::vector<NamedTensor> to_fill(const std::vector<NamedTensor>& own) const;
  // As load_weights() into `model`, which rank 0 alone does; then all have them. What load_weights() gives is rank 0's.
  bool load(const Weights& weights, const WeightRules& rules, Model& model,
            HeadPolicy policy) const;
  // Rank 0's `whole` to `own` of all processes, in place.
  void spread(const std::vector<NamedTensor>& whole, const std::vector<NamedTensor>& own) const;

 private:
  // What stands before the names of parameters: "model.", "optimizer.exp_avg.".
  std::vector<std::string> prefixes(const std::vector<NamedTensor>& own) const;
  // The tensors that are no parameter's.
  std::vector<NamedTensor> others(const std::vector<NamedTensor>& own) const;
  // The parameter that a name ends with; empty: none.
  std::string parameter_of(const std::string& name) const;

  const RunMesh& mesh_;
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
