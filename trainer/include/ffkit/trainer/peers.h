// Peers: what the processes of a run tell each other about samples and tensors: in an evaluation,
// in a loss whose divisor is of all of them, or in a network that they compute together.
//
// Calls are collective, but for what one sends to another: all make the same calls in the same
// order, and wait for each other. Not thread-safe. Errors: Error(io) when another process is gone
// or does not answer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ffkit {

// Values on their way from or to another process. Dropped without wait(), they may arrive or not.
class Transfer {
 public:
  explicit Transfer(std::function<void()> finish) : finish_(std::move(finish)) {}
  // Returns when the tensor may be changed (of a send), or holds the values (of a receive). On a
  // GPU: when the current stream has them. Throws as Peers.
  void wait() { finish_(); }

 private:
  std::function<void()> finish_;
};

// This class itself is for a process alone. Tensors are contiguous, on the CPU or on the device of
// the run.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const { return 0; }
  virtual int world_size() const { return 1; }
  // Adds up over all processes, in place; no gradient goes through it.
  virtual void sum(at::Tensor& /*numbers*/) {}
  // [world size] what each process gave, by rank. `rows`: [R, ...] on the CPU; R may differ between
  // processes, the rest may not.
  virtual std::vector<at::Tensor> gather_rows(const at::Tensor& rows) { return {rows}; }
  // [world size] what each process gave, by rank: tensors of one shape and dtype, on the device of
  // the run.
  virtual std::vector<at::Tensor> gather(const at::Tensor& tensor) { return {tensor}; }
  // To and from one other process, not collective; the receiver's tensor has the sender's shape and
  // dtype. Of several transfers between the same two, those with the same tag arrive in the order
  // they were started. Two processes that send to each other start both transfers, then wait.
  // Throws Error(invalid_argument) unless `other` is another process's rank.
  [[nodiscard]] virtual Transfer start_send(const at::Tensor& tensor, int other, int tag = 0);
  [[nodiscard]] virtual Transfer start_receive(at::Tensor& tensor, int other, int tag = 0);
};

// Where processes compute a sum together, a summand each: the sum, whose gradient is that of each
// summand (g of Megatron-LM, Shoeybi et al. 2019, section 3). `tensor`: of any layout. `peers`
// outlives the backward pass.
at::Tensor sum_of_peers(const at::Tensor& tensor, Peers& peers);

// Where these summands begin, at an input or a parameter that all processes have alike: `tensor` as
// it is, with the sum of all processes' gradients (f of Megatron-LM).
at::Tensor with_summed_gradient(const at::Tensor& tensor, Peers& peers);

// Where each process has as many indices of `dimension`, in the order of ranks: those of all, whose
// gradient is the sum of all processes' gradients of the own ones (g of Korthikanti et al.,
// "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2.2).
at::Tensor gathered_from_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers);

// The other way round: of the sum of all processes' tensors the own indices, whose gradients are
// gathered (g-bar). The size of `dimension` is a multiple of the number of processes. It is a sum
// of which the rest is dropped: c10d's calls that leave it out differ between versions and
// backends.
at::Tensor sum_share_of_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers);

}  // namespace ffkit
