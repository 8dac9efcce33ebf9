#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <ffkit/base/error.h>
#include <ffkit/trainer/task.h>

#include "optim/gradients.h"

namespace ffkit {

at::Tensor part_of(const at::Tensor& whole, const TensorCut& cut) {
  if (cut.runs.empty()) return whole;
  std::vector<at::Tensor> pieces;
  for (const TensorCut::Run& run : cut.runs)
    pieces.push_back(whole.narrow(cut.dimension, run.begin, run.count));
  return pieces.size() == 1 ? pieces[0] : at::cat(pieces, cut.dimension);
}

void Evaluation::write_results(const std::filesystem::path& file) {
  throw Error(ErrorCode::unsupported, "the task writes no results", {.path = file.string()});
}

std::string Evaluation::write_confusion(const std::filesystem::path& file) {
  throw Error(ErrorCode::unsupported, "the task has no classes", {.path = file.string()});
}

std::unique_ptr<BatchSource> Task::prediction_batches() {
  throw Error(ErrorCode::unsupported, "the task predicts nothing but what it validates");
}

void Task::set_facts(const TaskFacts& /*facts*/) {}

std::string Task::misfit(const TrainOptions& /*stored*/, const TaskFacts& stored_facts) const {
  const TaskFacts own = facts();
  for (const auto& [name, text] : own) {
    const auto stored = stored_facts.find(name);
    if (stored == stored_facts.end() || stored->second != text)
      return fmt::format("its {} are not those of the data set {}", name, options().data.string());
  }
  return {};
}

TaskFacts Task::facts_of_weights(const std::vector<NamedTensor>& /*weights*/,
                                 const std::filesystem::path& /*file*/) {
  return facts();
}

at::Tensor Task::gradient_norm(const std::vector<NamedTensor>& parameters) {
  return ffkit::gradient_norm(parameters);
}

}  // namespace ffkit
