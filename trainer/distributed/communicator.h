// Communicator: what the processes that train one model together tell each other, by libtorch's
// c10d (Gloo between CPUs, NCCL between GPUs). The world, or a part of it (mesh.h). All processes
// of it make the same calls in the same order, but for what one sends to another. In a world of
// one, collective calls do nothing.
//
// Errors: Error(io) of one sentence with the rank when another process is gone or does not answer
// within the timeout.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/launch/launch.h>
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/peers.h>

namespace ffkit {

class Communicator {
 public:
  // Meets the other processes. Throws Error(io) when they do not come in time,
  // Error(invalid_argument) for an unknown backend or one that does not fit `device`.
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

  // Rank 0's values for everybody, in place; the tensors are on device() or on the CPU, of any
  // dtype.
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

  // For the world. True if this process was asked to stop (stop_signal()), or if another one was:
  // then this process is asked to stop by the same signal. Not collective. Looks at the store where
  // the processes met, twice a second at most. A thread that waits for data does so, too.
  bool is_stop_requested();

  // To and from one other process, not collective. `tensor`: contiguous, on device(); the
  // receiver's has the sender's shape and dtype. Of several transfers between the same two, those
  // with the same tag arrive in the order they were started. Two processes that send() to each
  // other at once wait for ever: start both transfers, then wait. Rank `other`: not this one's.
  void send(const at::Tensor& tensor, int other, int tag = 0) {
    start_send(tensor, other, tag).wait();
  }
  void receive(at::Tensor& tensor, int other, int tag = 0) {
    start_receive(tensor, other, tag).wait();
  }
  [[nodiscard]] Transfer start_send(const at::Tensor& tensor, int other, int tag = 0) {
    return start_transfer(tensor, other, tag, /*is_send=*/true);
  }
  [[nodiscard]] Transfer start_receive(at::Tensor& tensor, int other, int tag = 0) {
    return start_transfer(tensor, other, tag, /*is_send=*/false);
  }

  // These processes as a world of their own, ranked by their place in the list, which holds this
  // one's rank. Processes that make the same part give the same ranks and the same `name`; a
  // process makes all its parts in the same order as the others. This communicator must outlive it.
  // Throws Error(invalid_argument) for ranks that are not there, twice, or without this one's.
  std::unique_ptr<Communicator> part(const std::string& name, const std::vector<int>& ranks);

  // Runs `action`, which communicates; what libtorch throws leaves as Error(io) that says what was
  // being done.
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
  // A part of `world`, whose processes meet under `key`.
  Communicator(Communicator& world, const ProcessPlace& place, const std::string& name,
               const std::string& key);
  void connect();
  Transfer start_transfer(const at::Tensor& tensor, int other, int tag, bool is_send);
  [[noreturn]] void rethrow(const char* doing, const std::exception& error) const;

  const ProcessPlace place_;
  const c10::Device device_;
  const int world_rank_;        // for messages
  const std::string group_;     // its name; empty: the world
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
    throw Error(ErrorCode::io, "rank 0 ended with an error; read the error message of this rank");
  }
}

// Runs `action`, which does not communicate, on all ranks, however long it takes each. When it
// throws on one, the others throw too.
template <typename Action>
void on_all_ranks(Communicator& communicator, Action action) {
  std::exception_ptr own;
  try {
    action();
  } catch (...) {
    own = std::current_exception();
  }
  std::vector<double> has_failed(communicator.world_size(), 0);
  has_failed[communicator.rank()] = own ? 1 : 0;
  communicator.barrier();
  has_failed = communicator.sum(has_failed);
  if (own) std::rethrow_exception(own);
  for (size_t rank = 0; rank < has_failed.size(); ++rank) {
    if (has_failed[rank] == 0) continue;
    throw Error(ErrorCode::io, "rank " + std::to_string(rank) +
                                   " ended with an error; read the error message of this rank");
  }
}

// DataParallel: averages the gradients of all processes during the backward pass, bucket by bucket,
// while the rest of it is still computed (c10d::Reducer, the engine of PyTorch's
// DistributedDataParallel). In a world of one it does nothing.
class DataParallel {
 public:
  // Gives every process the parameters and buffers of rank 0. Throws Error(invalid_argument) when
  // the processes have other models.
  DataParallel(Communicator& communicator, const Model& model);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Before each forward pass in training.
  void before_forward();
  // Before a backward pass after which gradients are to be averages over all processes. Left out,
  // gradients add up in this process.
  void before_backward();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null in a world of one
};

// CommunicatorPeers: what a task and its evaluations see of a Communicator, which must outlive it.
class CommunicatorPeers final : public Peers {
 public:
  explicit CommunicatorPeers(Communicator& communicator) : communicator_(communicator) {}

  int rank() const override { return communicator_.rank(); }
  int world_size() const override { return communicator_.world_size(); }
  void sum(at::Tensor& numbers) override { communicator_.sum(numbers); }
  std::vector<at::Tensor> gather_rows(const at::Tensor& rows) override;
  std::vector<at::Tensor> gather(const at::Tensor& tensor) override {
    return communicator_.all_gather(tensor);
  }
  Transfer start_send(const at::Tensor& tensor, int other, int tag) override {
    return communicator_.start_send(tensor, other, tag);
  }
  Transfer start_receive(at::Tensor& tensor, int other, int tag) override {
    return communicator_.start_receive(tensor, other, tag);
  }

 private:
  Communicator& communicator_;
};

}  // namespace ffkit
