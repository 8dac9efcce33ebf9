#include "optim/divided_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace ffkit {
namespace {

constexpr int64_t kExchangedBytes = int64_t{64} << 20;  // at once

}  // namespace

RowShare row_share(int64_t rows, int rank, int size) {
  const int64_t begin = rows * rank / size;
  return {.begin = begin, .count = rows * (rank + 1) / size - begin};
}

DividedOptimizer::DividedOptimizer(
    std::vector<ParameterGroup> groups, Communicator& communicator,
    const std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>& make)
    : Optimizer(std::move(groups)), communicator_(communicator) {
  std::vector<ParameterGroup> own = this->groups();
  for (ParameterGroup& group : own) {
    for (NamedTensor& p : group.parameters) {
      const at::Tensor rows = rows_of(p.tensor.detach(), communicator_.rank());
      pairs_.push_back({.parameter = p.tensor, .own = rows});
      p.tensor = rows;
    }
  }
  rows_ = make(std::move(own));
}

at::Tensor DividedOptimizer::rows_of(const at::Tensor& tensor, int rank) const {
  if (tensor.dim() == 0) return tensor;
  const RowShare share = row_share(tensor.size(0), rank, communicator_.world_size());
  return tensor.narrow(0, share.begin, share.count);
}

void DividedOptimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  for (const Pair& pair : pairs_) {
    const at::Tensor& gradient = pair.parameter.grad();
    pair.own.mutable_grad() = gradient.defined() && pair.own.numel() > 0
                                  ? rows_of(gradient, communicator_.rank())
                                  : at::Tensor();
  }
  rows_->step(lr);
  std::vector<at::Tensor> together;
  int64_t bytes = 0;
  for (const Pair& pair : pairs_) {
    pair.own.mutable_grad().reset();
    if (pair.parameter.dim() == 0) continue;  // all have updated it
    together.push_back(pair.parameter.detach());
    bytes += pair.parameter.nbytes();
    if (bytes < kExchangedBytes) continue;
    exchange(together);
    together.clear();
    bytes = 0;
  }
  exchange(together);
}

void DividedOptimizer::exchange(const std::vector<at::Tensor>& parameters) {
  if (parameters.empty()) return;
  // All give as many numbers as the one that has most.
  int64_t most = 0;
  for (int rank = 0; rank < communicator_.world_size(); ++rank) {
    int64_t count = 0;
    for (const at::Tensor& p : parameters) count += rows_of(p, rank).numel();
    most = std::max(most, count);
  }
  const at::Tensor own = at::empty({most}, parameters.front().options());
  int64_t end = 0;
  for (const at::Tensor& p : parameters) {
    const at::Tensor rows = rows_of(p, communicator_.rank());
    own.narrow(0, end, rows.numel()).copy_(rows.reshape({-1}));
    end += rows.numel();
  }
  const std::vector<at::Tensor> all = communicator_.all_gather(own);
  for (int rank = 0; rank < communicator_.world_size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    int64_t begin = 0;
    for (const at::Tensor& p : parameters) {
      const at::Tensor rows = rows_of(p, rank);
      rows.copy_(all[rank].narrow(0, begin, rows.numel()).view(rows.sizes()));
      begin += rows.numel();
    }
  }
}

}  // namespace ffkit
