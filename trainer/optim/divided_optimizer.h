// DividedOptimizer: an optimiser whose state is divided among processes with the same parameters
// (ZeRO-1; Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", 2020). Each process has the state of some rows of each parameter (row_share), updates
// these, and gives them to the others. The weights after a step are those of the optimiser that is
// not divided, but for the last bit of numbers that the kernel computes as the rest of a vector;
// all processes have the same bits.
//
// Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "distributed/communicator.h"
#include "optim/optimizer.h"

namespace ffkit {

// The rows, indices of the first dimension, of a parameter with `rows` of them that process `rank`
// of `size` has. Numbers without dimensions are not divided: all have them.
struct RowShare {
  int64_t begin = 0, count = 0;
};
RowShare row_share(int64_t rows, int rank, int size);

class DividedOptimizer final : public Optimizer {
 public:
  // `make`: the optimiser of such groups, which computes each number from its own gradient alone
  // (not Lars). `communicator` outlives it; all its processes have the same groups.
  DividedOptimizer(
      std::vector<ParameterGroup> groups, Communicator& communicator,
      const std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>& make);

  // Collective. Gradients must be the same on all processes.
  void step(double lr) override;
  // As the optimiser's that was made, of this process's rows; also of parameters of which it has
  // none.
  std::vector<NamedTensor> state() const override { return rows_->state(); }

 private:
  struct Pair {
    at::Tensor parameter;
    at::Tensor own;  // a view of this process's rows
  };
  // The rows that `rank` has.
  at::Tensor rows_of(const at::Tensor& tensor, int rank) const;
  // Gives all processes all rows of some parameters.
  void exchange(const std::vector<at::Tensor>& parameters);

  Communicator& communicator_;
  std::vector<Pair> pairs_;
  std::unique_ptr<Optimizer> rows_;
};

}  // namespace ffkit
