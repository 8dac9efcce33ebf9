#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/task_registry.h>

#include "base/left_out.h"
#include "base/make_error.h"

namespace ffkit {

bool EvalResult::has_value(std::string_view name) const {
  return std::ranges::any_of(metrics, [&](const auto& metric) { return metric.first == name; });
}

double EvalResult::value(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [own, value] : metrics) {
    if (own == name) return value;
    names.push_back(own);
  }
  throw error_of(ErrorCode::not_found, "there is no metric '{}'; the metrics are {}", name,
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

const MetricInfo& TaskEntry::best_metric() const {
  return *std::ranges::find(metrics, best, &MetricInfo::name);
}

void TaskRegistry::add(TaskEntry entry) {
  for (const auto& other : entries_) {
    if (other->name != entry.name) continue;
    throw error_of(ErrorCode::invalid_argument,
                   "a task with the name '{}' exists already; give another name", entry.name);
  }
  if (std::ranges::find(entry.metrics, entry.best, &MetricInfo::name) == entry.metrics.end()) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the task '{}' has the best metric '{}', but the task has no metric with this name",
        entry.name, entry.best);
  }
  entries_.push_back(std::make_unique<const TaskEntry>(std::move(entry)));
}

const TaskEntry& TaskRegistry::find(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (entry->name == name) return *entry;
  }
  require_built("task", name);
  throw error_of(ErrorCode::invalid_argument, "unknown task '{}'; expected one of {}", name,
                 fmt::join(names(), ", "));
}

const TaskEntry& TaskRegistry::find_for(const Schema& schema, const std::string& path) const {
  const TaskEntry* found = nullptr;
  std::vector<std::string> fitting, reasons;
  for (const auto& entry : entries_) {
    const std::string reason = entry->misfit(schema);
    if (reason.empty()) {
      found = entry.get();
      fitting.push_back(entry->name);
    } else {
      reasons.push_back(fmt::format("{}: {}", entry->name, reason));
    }
  }
  if (fitting.size() == 1) return *found;
  if (fitting.empty()) {
    const Error error =
        error_at(path, ErrorCode::invalid_argument, "no task can train on this data set ({})",
                 fmt::join(reasons, "; "));
    const std::vector<std::string> left_out = left_out_names("task");
    if (left_out.empty()) throw error;
    throw LeftOutError(fmt::format("{}; the tasks {} are left out of this build", error.what(),
                                   fmt::join(left_out, ", ")));
  }
  throw error_at(path, ErrorCode::invalid_argument,
                 "the tasks {} can all train on this data set; choose one task with {}",
                 fmt::join(fitting, ", "), option_name("task"));
}

std::vector<std::string> TaskRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry->name);
  return names;
}

}  // namespace ffkit
