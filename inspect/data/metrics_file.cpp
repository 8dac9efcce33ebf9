#include "data/metrics_file.h"

#include <fstream>
#include <initializer_list>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr std::string_view kSpeed = "_per_second";

// JSON has no word for numbers that are not finite.
bool is_a_number(const Json& json) {
  return json.is_number() || json == "nan" || json == "inf" || json == "-inf";
}

bool has_numbers(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto it = json.find(key);
    if (it == json.end() || !is_a_number(*it)) return false;
  }
  return true;
}

// "images" of a training line with the key "images_per_second"; empty without such a key.
std::string units_of(const Json& line) {
  for (const auto& item : line.items()) {
    const std::string& key = item.key();
    if (key.ends_with(kSpeed)) return key.substr(0, key.size() - kSpeed.size());
  }
  return {};
}

// What stands in a validation line between train_loss and the number of units: the task's metrics.
std::vector<std::string> metrics_of(const Json& line, const std::string& units) {
  std::vector<std::string> keys;
  for (const auto& item : line.items()) {
    const std::string& key = item.key();
    const bool is_of_all = key == "kind" || key == "step" || key == "epoch" ||
                           key == "train_loss" || key == "seconds" || key == "loss";
    if (!is_of_all && key != units && is_a_number(item.value())) keys.push_back(key);
  }
  return keys;
}

// Whether `line` is one that is known, which is then put where it belongs.
bool add_line(const std::string& line, RunMetrics& metrics) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    return false;
  }
  const std::string kind = json.contains("kind") && json["kind"].is_string()
                               ? json["kind"].get<std::string>()
                               : std::string();
  if (kind == "train" && has_numbers(json, {"epoch", "loss", "lr"}) && !units_of(json).empty()) {
    metrics.units = units_of(json);
    metrics.train.push_back(std::move(json));
  } else if (kind == "validation" && has_numbers(json, {"epoch", "train_loss", "seconds"})) {
    metrics.validation.push_back(std::move(json));
  } else {
    return false;
  }
  return true;
}

}  // namespace

RunMetrics read_metrics(const std::filesystem::path& work_dir) {
  const std::filesystem::path path = work_dir / "metrics.jsonl";
  std::ifstream in(path);
  if (!in) {
    throw error_at(work_dir, ErrorCode::not_found,
                   "holds no metrics.jsonl; give the --work-dir of a run of fftrain");
  }
  RunMetrics metrics;
  std::string line;
  // getline() sets eof on a line without an end: one that is being written.
  for (int64_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
    if (add_line(line, metrics)) continue;
    throw error_at(path, ErrorCode::corrupt,
                   "line {} is not one that fftrain writes; was it changed by hand?", number);
  }
  if (metrics.train.empty() && metrics.validation.empty()) {
    throw error_at(path, ErrorCode::invalid_argument,
                   "has no line yet; fftrain writes the first one after --log-every steps");
  }
  if (!metrics.validation.empty())
    metrics.metrics = metrics_of(metrics.validation.back(), metrics.units);
  return metrics;
}

}  // namespace ffkit
