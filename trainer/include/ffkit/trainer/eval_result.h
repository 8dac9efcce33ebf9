// EvalResult: the values of a task's metrics on a split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ffkit {

struct TaskEntry;

// A metric as a task declares it.
struct MetricInfo {
  std::string name;   // in metrics.jsonl, TensorBoard and value(): "top1"
  std::string title;  // in lines for people: "top-1"; empty: the name
  // For output, a value is multiplied by `scale` and printed with `digits` after the point and
  // `unit`, such as 100, 2 and "%".
  double scale = 1;
  int digits = 4;
  std::string unit = {};
};

struct EvalResult {
  int64_t count = 0;  // of the task's units, all processes together: images, tokens
  std::vector<std::pair<std::string, double>> metrics;  // names and values, in the task's order
  // The reason if there are no metrics, a sentence without its full stop: the split has no truth to
  // compare with. Empty: there are metrics.
  std::string no_metrics = {};
  // A sentence, without its full stop, if the network computed something that is not finite. An
  // evaluation then fails with it, and a training ends. Empty: all is finite.
  std::string diverged = {};

  bool has_value(std::string_view name) const;
  // Throws Error(not_found) that lists all metrics.
  double value(std::string_view name) const;
};

// "best top-1 61.90 % (epoch 15)"; epoch 0: "no validation gave a top-1 that is a number".
std::string best_text(const TaskEntry& task, double best, int64_t epoch);
// "top-1 61.90 %".
std::string metric_text(const MetricInfo& metric, double value);
// All that `result` has: "loss 1.0972  top-1 61.90 %  top-5 95.65 %".
std::string metrics_text(const std::vector<MetricInfo>& metrics, const EvalResult& result);

}  // namespace ffkit
