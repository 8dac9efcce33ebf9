// CommunicatorPeers: what a task and its evaluations see of a Communicator, which must outlive it.
#pragma once

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"

namespace ffkit {

class CommunicatorPeers final : public Peers {
 public:
  explicit CommunicatorPeers(Communicator& communicator) : communicator_(communicator) {}

  int rank() const override { return communicator_.rank(); }
  int world_size() const override { return communicator_.world_size(); }
  void sum(at::Tensor& numbers) override { communicator_.sum(numbers); }
  std::vector<at::Tensor> gather_rows(const at::Tensor& rows) override;

 private:
  Communicator& communicator_;
};

}  // namespace ffkit
