#include "report/progress_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/json_number.h"

namespace ffkit {
namespace {

using ProgressJson = nlohmann::ordered_json;

// Names of files may be no UTF-8.
std::string line_of(const ProgressJson& json) {
  return json.dump(-1, ' ', false, ProgressJson::error_handler_t::replace);
}

}  // namespace

std::string progress_json(const StartOfRun& start) {
  return line_of({{"kind", "start"},
                  {"epochs", start.num_epochs},
                  {"steps_per_epoch", start.steps_per_epoch},
                  {"steps", start.num_steps},
                  {"steps_done", start.steps_done},
                  {"samples_per_step", start.samples_per_step},
                  {"units", start.units}});
}

std::string progress_json(const EndOfEpoch& epoch) {
  return line_of({{"kind", "epoch"},
                  {"step", epoch.step},
                  {"epoch", epoch.epoch},
                  {"epochs", epoch.num_epochs},
                  {"train_loss", json_number(epoch.train_loss)},
                  {"lr", epoch.lr},
                  {epoch.units + "_per_second", epoch.units_per_second},
                  {"data_wait_share", epoch.data_wait_share},
                  {"skipped_steps", epoch.num_skipped},
                  {"seconds", epoch.seconds}});
}

std::string progress_json(const EndOfRun& end) {
  ProgressJson json = {{"kind", "summary"}, {"state", end.state}, {"epochs_done", end.epochs_done}};
  if (end.best_epoch > 0) {
    json["best_metric"] = end.best_metric;
    json["best"] = json_number(end.best);
    json["best_epoch"] = end.best_epoch;
  }
  for (const auto& [name, value] : end.last.metrics) json["last"][name] = json_number(value);
  json[end.units + "_per_second"] = end.units_per_second;
  json["data_wait_share"] = end.data_wait_share;
  json["seconds"] = end.seconds;
  json["checkpoint"] = end.checkpoint;
  return line_of(json);
}

std::string progress_json(const EvalResult& result, const std::string& units) {
  ProgressJson json = {{"kind", "validation"}};
  for (const auto& [name, value] : result.metrics) json[name] = json_number(value);
  json[units] = result.count;
  if (!result.no_metrics.empty()) json["no_metrics"] = result.no_metrics;
  return line_of(json);
}

void print_progress(std::FILE* to, const std::string& object) {
  fmt::print(to, "{}\n", object);
  std::fflush(to);
}

}  // namespace ffkit
