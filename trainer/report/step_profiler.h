// StepProfiler: where the time of training steps goes, by libtorch's profiler.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace ffkit {

class StepProfiler {
 public:
  // Writes into `folder`, which it makes: trace-rank<R>.json, a Chrome trace (chrome://tracing,
  // Perfetto), and operators-rank<R>.txt, the operators by the time they take themselves. An empty
  // `folder`: does nothing. `lines` gets a sentence on what was written; null: nobody does.
  StepProfiler(std::filesystem::path folder, int rank, bool has_gpu, std::FILE* lines);
  // As finish(), but a profile that cannot be written is lost: libtorch's profiler must not outlive
  // what it looks at.
  ~StepProfiler();
  StepProfiler(const StepProfiler&) = delete;
  StepProfiler& operator=(const StepProfiler&) = delete;

  // Around each step, by the thread that trains. Steps 6 to 10 are looked at, then the files are
  // written. Throws Error(io) when they cannot be.
  void before_step();
  void after_step();
  // The run ends: writes what there was since step 6, or of a shorter run since its first step.
  // Errors as after_step().
  void finish();

 private:
  static constexpr int64_t kFirst = 5, kCount = 5;

  void start();

  const std::filesystem::path folder_;
  const int rank_;
  const bool has_gpu_;
  std::FILE* const lines_;
  bool is_running_ = false;
  bool is_over_;
  int64_t num_steps_ = 0;
  int64_t begin_ = 0;  // the steps before the profile
};

}  // namespace ffkit
