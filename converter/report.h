// SkipReport: DST/report.jsonl, one JSON object a line for every sample that was left out. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include <ffkit/converter/packer.h>

namespace ffkit {

class SkipReport {
 public:
  // The file is made with the first sample: no sample, no file.
  explicit SkipReport(std::filesystem::path path) : path_(std::move(path)) {}

  // {"split": "train", "source": "...", "reason": "..."}; throws Error(io).
  void add(const SkippedSample& sample);
  // Makes the report durable; throws Error(io).
  void finish();

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace ffkit
