#include "distributed/stop_vote.h"

#include <vector>

#include <ffkit/trainer/stop.h>

#include "distributed/communicator_impl.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(500);  // between two looks at the store
constexpr char kKey[] = "stop";

}  // namespace

struct StopVote::Impl {
  Communicator& communicator;
  bool is_stopped = false;
  bool is_said = false;
  Clock::time_point last_look = Clock::now();
};

StopVote::StopVote(Communicator& communicator)
    : impl_(std::make_unique<Impl>(Impl{.communicator = communicator})) {}

StopVote::~StopVote() = default;

bool StopVote::is_stopped() {
  Impl& self = *impl_;
  const bool is_asked = stop_signal() != 0;
  self.is_stopped = self.is_stopped || is_asked;
  if (self.communicator.is_alone()) return self.is_stopped;
  self.communicator.with_peers("asking whether to stop", [&] {
    c10d::Store& store = *self.communicator.impl().store;
    if (is_asked && !self.is_said) {
      store.set(kKey, std::vector<uint8_t>{1});
      self.is_said = true;
    } else if (!self.is_stopped && Clock::now() - self.last_look > kPause) {
      self.is_stopped = store.check({kKey});
      self.last_look = Clock::now();
    }
  });
  return self.is_stopped;
}

bool StopVote::close() {
  const double num = impl_->communicator.sum(std::vector<double>{is_stopped() ? 1.0 : 0.0})[0];
  return num > 0;
}

}  // namespace ffkit
