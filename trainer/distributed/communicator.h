// Communicator: what the processes that train one model together tell each other, by libtorch's c10d (Gloo between CPUs, NCCL between
// GPUs). Every call is collective: all processes make the same calls in the same order. In a world of one every call does nothing.
//
// Errors: Error(io) of one sentence with the rank when another process is gone or does not answer within the timeout.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/error.h>
#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/model.h>

namespace ffkit {

class Communicator {
 public:
  // Meets the other processes. Throws Error(io) when they do not come in time, Error(invalid_argument) for an unknown backend or one
  // that does not fit `device`.
  Communicator(const ProcessPlace& place, c10::Device device);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return place_.rank; }
  int world_size() const { return place_.world_size; }
  int local_rank() const { return place_.local_rank; }
  int local_world_size() const { return place_.local_world_size; }
  const ProcessPlace& place() const { return place_; }
  bool is_alone() const { return place_.world_size == 1; }
  c10::Device device() const { return device_; }
  std::string backend_name() const;

  // Rank 0's values for everybody, in place; the tensors are on device() or on the CPU, of any dtype.
  void broadcast(const std::vector<at::Tensor>& tensors);
  void broadcast(const std::vector<NamedTensor>& tensors);
  // Rank 0's text.
  std::string broadcast(const std::string& text);
  // Sums over all processes, in place. `tensor`: contiguous, on device().
  void sum(at::Tensor& tensor);
  // Sums numbers.
  std::vector<double> sum(const std::vector<double>& numbers);
  // [world_size] tensors like `tensor`, by rank; `tensor`: contiguous, on device().
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor);
  // Returns when all processes have come here.
  void barrier();

  // Runs `action`, which communicates; what libtorch throws leaves as Error(io) that says what was being done.
  template <typename Action>
  auto with_peers(const char* doing, Action action) {
    if (is_alone()) return action();
    try {
      return action();
    } catch (const std::exception& error) {
      rethrow(doing, error);
    }
  }

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  [[noreturn]] void rethrow(const char* doing, const std::exception& error) const;

  const ProcessPlace place_;
  const c10::Device device_;
  std::unique_ptr<Impl> impl_;  // null in a world of one
};

// Runs `action` on rank 0 alone. When it throws, the others throw too instead of waiting for it.
template <typename Action>
void on_rank_0(Communicator& communicator, Action action) {
  if (communicator.rank() == 0) {
    try {
      action();
    } catch (...) {
      communicator.sum(std::vector<double>{1});
      throw;
    }
  }
  if (communicator.sum(std::vector<double>{0})[0] > 0) {
    throw Error(ErrorCode::io, "rank 0 ended with an error, which it prints");
  }
}

// DataParallel: averages the gradients of all processes during the backward pass, bucket by bucket, while the rest of it is still
// computed (c10d::Reducer, the engine of PyTorch's DistributedDataParallel). In a world of one it does nothing.
class DataParallel {
 public:
  // Gives every process the parameters and buffers of rank 0. Throws Error(invalid_argument) when the processes have other models.
  DataParallel(Communicator& communicator, const Model& model);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Before each forward pass in training.
  void before_forward();
  // Before a backward pass after which gradients are to be averages over all processes. Left out, gradients add up in this process.
  void before_backward();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null in a world of one
};

}  // namespace ffkit
