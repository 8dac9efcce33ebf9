#include "step/validation.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include <ffkit/base/error.h>

#include "device/device.h"
#include "distributed/communicator.h"

namespace ffkit {

std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         const RunMesh& mesh, const PredictionFiles& files) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  const std::unique_ptr<Evaluation> evaluation = task.evaluation();
  if (!files.results.empty() || !files.confusion.empty()) evaluation->keep_predictions();
  StopVote vote(mesh.world());
  source.start_epoch(0);
  // Those that compute a network together leave at the same batch.
  const auto is_stopped = [&] {
    return mesh.same_data().sum(std::vector<double>{vote.is_stopped() ? 1.0 : 0.0})[0] > 0;
  };
  while (!is_stopped()) {
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) break;
    const Autocast autocast(amp, mesh.world().device());
    evaluation->add(*batch);
  }
  model.set_training(true);
  // Some may have been done before they heard of it.
  if (vote.close()) return std::nullopt;
  CommunicatorPeers peers(mesh.data());
  EvalResult result = evaluation->finish(peers);
  if (result.diverged.empty() && result.has_value("loss") && !std::isfinite(result.value("loss")))
    result.diverged = fmt::format("the loss of the validation is {}",
                                  std::isnan(result.value("loss")) ? "nan" : "inf");
  if (!result.diverged.empty()) return result;  // whose results nobody wants
  if (!result.no_metrics.empty() && files.results.empty()) {
    throw Error(ErrorCode::invalid_argument,
                result.no_metrics + "; --evaluate with --results FILE writes what is found in it");
  }
  on_rank_0(mesh.world(), [&] {
    if (!files.results.empty()) evaluation->write_results(files.results);
    if (files.confusion.empty()) return;
    const std::string table = evaluation->write_confusion(files.confusion);
    if (files.lines != nullptr) fmt::print(files.lines, "{}", table);
  });
  return result;
}

}  // namespace ffkit
