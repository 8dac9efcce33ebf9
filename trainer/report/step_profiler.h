// StepProfiler: where the time of training steps goes, by libtorch's profiler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ffkit {

class StepProfiler {
 public:
  // Writes into `folder`, which it makes: trace-rank<R>.json, a Chrome trace (chrome://tracing,
  // Perfetto), and operators-rank<R>.txt, the operators by the time they take themselves. An empty
  // `folder`: does nothing.
  StepProfiler(std::filesystem::path folder, int rank, bool has_gpu);

  // After each step of the thread that trains. The first 5 steps pass, the next 5 are looked at,
  // then the files are written. Throws Error(io) when they cannot be.
  void after_step();
  // One sentence on what was written; empty before.
  const std::string& report() const { return report_; }

 private:
  static constexpr int64_t kFirst = 5, kCount = 5;

  void start() const;
  void stop();

  const std::filesystem::path folder_;
  const int rank_;
  const bool has_gpu_;
  int64_t num_steps_ = 0;
  std::string report_;
};

}  // namespace ffkit
