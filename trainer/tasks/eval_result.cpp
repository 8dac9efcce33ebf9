#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task_registry.h>

#include "base/make_error.h"

namespace ffkit {

bool EvalResult::has_value(std::string_view name) const {
  for (const auto& [own, value] : metrics) {
    if (own == name) return true;
  }
  return false;
}

double EvalResult::value(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [own, value] : metrics) {
    if (own == name) return value;
    names.push_back(own);
  }
  throw error_of(ErrorCode::not_found, "there is no metric '{}'; there are {}", name,
                 fmt::join(names, ", "));
}

std::string best_text(const TaskEntry& task, double best, int64_t epoch) {
  const MetricInfo& metric = task.best_metric();
  if (epoch > 0) return fmt::format("best {} (epoch {})", metric_text(metric, best), epoch);
  return fmt::format("no validation gave a {} that is a number",
                     metric.title.empty() ? metric.name : metric.title);
}

std::string metric_text(const MetricInfo& metric, double value) {
  return fmt::format("{} {:.{}f}{}{}", metric.title.empty() ? metric.name : metric.title,
                     metric.scale * value, metric.digits, metric.unit.empty() ? "" : " ",
                     metric.unit);
}

std::string metrics_text(const std::vector<MetricInfo>& metrics, const EvalResult& result) {
  std::vector<std::string> texts;
  for (const MetricInfo& metric : metrics) {
    if (!result.has_value(metric.name)) continue;
    texts.push_back(metric_text(metric, result.value(metric.name)));
  }
  return fmt::format("{}", fmt::join(texts, "  "));
}

}  // namespace ffkit
