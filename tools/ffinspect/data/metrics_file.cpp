#include "data/metrics_file.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr const char* kTrainKeys[] = {"epoch", "loss", "lr", "images_per_second"};
constexpr const char* kValidationKeys[] = {"epoch", "loss", "top1", "top5"};

template <size_t N>
bool has_numbers(const Json& json, const char* const (&keys)[N]) {
  for (const char* key : keys) {
    const auto it = json.find(key);
    if (it == json.end() || !(it->is_number() || it->is_null())) return false;
  }
  return true;
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
  if (kind == "train" && has_numbers(json, kTrainKeys)) {
    metrics.train.push_back(std::move(json));
  } else if (kind == "validation" && has_numbers(json, kValidationKeys)) {
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
    throw Error(ErrorCode::not_found,
                "holds no metrics.jsonl; give the --work-dir of a run of fftrain",
                {.path = work_dir.string()});
  }
  RunMetrics metrics;
  std::string line;
  // getline() sets eof on a line without an end: one that is being written.
  for (int64_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
    if (add_line(line, metrics)) continue;
    throw Error(
        ErrorCode::corrupt,
        fmt::format("line {} is not one that fftrain writes; was it changed by hand?", number),
        {.path = path.string()});
  }
  if (metrics.train.empty() && metrics.validation.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "has no line yet; fftrain writes the first one after --log-every steps",
                {.path = path.string()});
  }
  return metrics;
}

}  // namespace ffkit
