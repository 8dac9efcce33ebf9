// CommunicatorPeers: what a task and its evaluations see of a Communicator, which must outlive it.
#pragma once

#include <ffkit/trainer/peers.h>

#include "distributed/communicator.h"

namespace ffkit {

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
