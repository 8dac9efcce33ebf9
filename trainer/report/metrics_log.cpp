#include "report/metrics_log.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/json_text.h"
#include "base/make_error.h"
#include "report/json_number.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// The lines of `path` up to `last_step`; nothing when there is no such file.
std::string read_lines(const fs::path& path, int64_t last_step) {
  std::ifstream in(path);
  std::string kept;
  std::string line;
  // getline() sets eof on a line without an end.
  while (std::getline(in, line) && !in.eof()) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto step = json.is_object() ? json.find("step") : json.end();
    if (!json.is_object() || step == json.end() || !step->is_number_integer()) break;
    if (step->get<int64_t>() > last_step) break;
    kept += line + "\n";
  }
  return kept;
}

// Under another name first: a run that is killed here keeps its log.
fs::path cut(const fs::path& path, int64_t last_step) {
  const std::string kept = read_lines(path, last_step);
  write_durably(path, kept);
  return path;
}

}  // namespace

std::string metrics_line(const TrainMetrics& m, const std::string& units) {
  return json_text(Json{{"kind", "train"},
                        {"step", m.step},
                        {"epoch", m.epoch},
                        {"loss", json_number(m.loss)},
                        {"lr", m.lr},
                        {units + "_per_second", m.units_per_second},
                        {"data_wait_share", m.data_wait_share}});
}

std::string metrics_line(const ValidationMetrics& m, const std::string& units) {
  Json line = {{"kind", "validation"},
               {"step", m.step},
               {"epoch", m.epoch},
               {"train_loss", json_number(m.train_loss)}};
  for (const auto& [name, value] : m.result.metrics) line[name] = json_number(value);
  line[units] = m.result.count;
  line["seconds"] = m.seconds;
  return json_text(line);
}

MetricsLog::MetricsLog(const fs::path& work_dir, int64_t steps_done, std::string units)
    : path_(cut(work_dir / kMetricsName, steps_done)),
      tensorboard_(work_dir, steps_done + 1),
      units_(std::move(units)) {}

void MetricsLog::add(const TrainMetrics& m) {
  append(metrics_line(m, units_));
  tensorboard_.write(m.step, {{"train/loss", m.loss},
                              {"train/lr", m.lr},
                              {"train/" + units_ + "_per_second", m.units_per_second},
                              {"train/data_wait_share", m.data_wait_share},
                              {"train/epoch", static_cast<double>(m.epoch)}});
}

void MetricsLog::add(const ValidationMetrics& m) {
  append(metrics_line(m, units_));
  std::vector<std::string> tags;
  for (const auto& metric : m.result.metrics) tags.push_back("validation/" + metric.first);
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < tags.size(); ++i) {
    scalars.push_back({tags[i], m.result.metrics[i].second});
  }
  tensorboard_.write(m.step, scalars);
}

void MetricsLog::append(const std::string& line) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                             std::fclose);
  const std::string text = line + "\n";
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw io_error_at(path_, "cannot append to the log", errno);
  }
}

void MetricsWindow::add_step(double num_units, double seconds, double wait_seconds) {
  ++num_steps_;
  num_units_ += num_units;
  seconds_ += seconds;
  wait_seconds_ += wait_seconds;
}

TrainMetrics MetricsWindow::take(int64_t step, int64_t epoch, double lr) {
  const TrainMetrics out{.step = step,
                         .epoch = epoch,
                         .loss = loss_sum_ / num_steps_,
                         .lr = lr,
                         .units_per_second = seconds_ > 0 ? num_units_ / seconds_ : 0,
                         .data_wait_share = seconds_ > 0 ? wait_seconds_ / seconds_ : 0};
  *this = {};
  return out;
}

}  // namespace ffkit
