// StopVote: whether any of the processes that train together was asked to stop, while each works on
// its own and no collective call tells it.
#pragma once

#include <memory>

#include "distributed/communicator.h"

namespace ffkit {

class StopVote {
 public:
  // Collective: all processes begin their votes in the same order. `communicator` outlives it.
  explicit StopVote(Communicator& communicator);
  ~StopVote();
  StopVote(const StopVote&) = delete;
  StopVote& operator=(const StopVote&) = delete;

  // True soon after any process was asked to (stop_signal()). Looks at the store the processes met
  // at, twice a second at most.
  bool is_stopped();
  // Collective: the answer that all processes get alike.
  bool close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
