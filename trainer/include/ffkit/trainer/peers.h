// Peers: exchanges numbers and tensors between the processes of a run: in an evaluation, in a loss
// that is divided by a sum over all of them, or in a network that they compute together.
//
// Calls are collective, except start_send() and start_receive(): all processes make the same calls
// in the same order, and wait for each other. Not thread-safe. Throws Error(io) if another process
// is gone or does not answer.
// May change in any version (docs/stability.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ffkit {

// Values on their way from or to another process. If it is destroyed without wait(), they may not
// arrive.
class Transfer {
 public:
  explicit Transfer(std::function<void()> finish) : finish_(std::move(finish)) {}
  // Returns when a sent tensor may be changed, or a received tensor has its values; on a GPU, for
  // work on the current stream. Throws like Peers.
  void wait() { finish_(); }

 private:
  std::function<void()> finish_;
};

// This class itself serves a single process. Tensors are contiguous, on the CPU or on the device of
// the run.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const { return 0; }
  virtual int world_size() const { return 1; }
  // Adds up over all processes, in place. No gradient goes through it.
  virtual void sum(at::Tensor& /*numbers*/) {}
  // [world size] the rows of each process, by rank. `rows` is [R, ...] on the CPU. Only R may
  // differ between processes.
  virtual std::vector<at::Tensor> gather_rows(const at::Tensor& rows) { return {rows}; }
  // [world size] the tensor of each process, by rank. All have the same shape and dtype, and are on
  // the device of the run.
  virtual std::vector<at::Tensor> gather(const at::Tensor& tensor) { return {tensor}; }
  // To and from one other process; not collective. The receiver's tensor has the sender's shape and
  // dtype. Transfers between the same two with the same tag arrive in the order of their start. Two
  // processes that send to each other start both transfers, then wait. Throws
  // Error(invalid_argument) if `other` is not another process's rank.
  [[nodiscard]] virtual Transfer start_send(const at::Tensor& tensor, int other, int tag = 0);
  [[nodiscard]] virtual Transfer start_receive(at::Tensor& tensor, int other, int tag = 0);
};

// The sum of all processes' tensors. The gradient of the sum goes to the tensor of each process (g
// of Megatron-LM, Shoeybi et al. 2019, section 3). `tensor` may have any layout. `peers` must
// outlive the backward pass.
at::Tensor sum_of_peers(const at::Tensor& tensor, Peers& peers);

// Returns `tensor`, an input or parameter that is the same in all processes and from which they
// compute their summands. Its gradient is the sum of all processes' gradients (f of Megatron-LM).
at::Tensor with_summed_gradient(const at::Tensor& tensor, Peers& peers);

// Concatenates all processes' tensors along `dimension`, by rank; all have the same size there. The
// gradient is the sum of all processes' gradients for this process's indices (g of Korthikanti et
// al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2.2).
at::Tensor gathered_from_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers);

// The reverse: this process's indices of the sum of all processes' tensors. Gradients are gathered
// (g-bar). The size of `dimension` must be a multiple of the number of processes. The whole sum is
// computed and the rest is dropped, because c10d's calls for only a part differ between versions
// and backends.
at::Tensor sum_share_of_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers);

}  // namespace ffkit
