#include "step/validation.h"

#include <ATen/core/grad_mode.h>

#include "device/autocast.h"
#include "distributed/stop_vote.h"
#include "step/peers.h"

namespace ffkit {

std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         Communicator& communicator,
                                         const std::filesystem::path& results) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  const std::unique_ptr<Evaluation> evaluation = task.evaluation();
  StopVote vote(communicator);
  source.start_epoch(0);
  while (!vote.is_stopped()) {
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) break;
    const Autocast autocast(amp, communicator.device());
    evaluation->add(*batch);
  }
  model.set_training(true);
  // Some may have been done before they heard of it.
  if (vote.close()) return std::nullopt;
  CommunicatorPeers peers(communicator);
  EvalResult result = evaluation->finish(peers);
  if (!results.empty()) on_rank_0(communicator, [&] { evaluation->write_results(results); });
  return result;
}

}  // namespace ffkit
