// What communicator.cpp, data_parallel.cpp and stop_vote.cpp share. c10d's headers take 24 s to
// compile: nobody else includes this.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "distributed/communicator.h"

namespace ffkit {

struct Communicator::Impl {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  c10::intrusive_ptr<c10d::Backend::Options> gloo_options;  // of the network; for parts too
  bool has_nccl = false;

  // Sums over all processes, in place.
  void all_reduce(at::Tensor& tensor);
};

}  // namespace ffkit
