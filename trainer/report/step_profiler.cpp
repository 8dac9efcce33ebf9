#include "report/step_profiler.h"

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;

ProfilerConfig profiler_config() {
  torch::profiler::impl::ExperimentalConfig experimental;
  experimental.profile_all_threads = true;  // the backward pass has its own
  return ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO, /*report_input_shapes=*/false,
                        /*profile_memory=*/false,
                        /*with_stack=*/false, /*with_flops=*/false, /*with_modules=*/false,
                        experimental);
}

std::set<ActivityType> activities(bool has_gpu) {
  std::set<ActivityType> out = {ActivityType::CPU};
  if (has_gpu) out.insert(ActivityType::CUDA);
  return out;
}

struct OperatorTime {
  int64_t num_calls = 0;
  uint64_t total_ns = 0;
  uint64_t self_ns = 0;  // without what it called
};

// Events of one thread nest like calls; kernels of a GPU lie on a thread of their own each stream.
std::map<std::string, OperatorTime> operator_times(
    const std::vector<profiler::KinetoEvent>& events) {
  std::map<std::pair<int, uint64_t>, std::vector<const profiler::KinetoEvent*>> threads;
  for (const profiler::KinetoEvent& e : events) {
    if (e.isAsync() || e.isHiddenEvent()) continue;
    const uint64_t lane = e.deviceType() == c10::DeviceType::CPU
                              ? e.startThreadId()
                              : static_cast<uint64_t>(e.deviceResourceId());
    threads[{static_cast<int>(e.deviceType()), lane}].push_back(&e);
  }
  std::map<std::string, OperatorTime> times;
  for (auto& [lane, list] : threads) {
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) {
      return a->startNs() != b->startNs() ? a->startNs() < b->startNs() : a->endNs() > b->endNs();
    });
    std::vector<const profiler::KinetoEvent*> open;
    for (const profiler::KinetoEvent* e : list) {
      while (!open.empty() && open.back()->endNs() <= e->startNs()) open.pop_back();
      OperatorTime& own = times[e->name()];
      ++own.num_calls;
      own.total_ns += e->durationNs();
      own.self_ns += e->durationNs();
      if (!open.empty()) {
        OperatorTime& caller = times[open.back()->name()];
        caller.self_ns -= std::min(caller.self_ns, e->durationNs());
      }
      open.push_back(e);
    }
  }
  return times;
}

std::string operator_table(const std::map<std::string, OperatorTime>& times, int64_t num_steps) {
  constexpr size_t kMostRows = 40;
  std::vector<std::pair<std::string, OperatorTime>> rows(times.begin(), times.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.self_ns > b.second.self_ns; });
  uint64_t all_ns = 0;
  for (const auto& [name, time] : rows) all_ns += time.self_ns;
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>8}  operator, over {} steps\n", "share",
                                 "self ms", "total ms", "calls", num_steps);
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const auto& [name, time] = rows[i];
    text += fmt::format("{:>6.1f} % {:>12.3f} {:>12.3f} {:>8}  {}\n",
                        100.0 * time.self_ns / std::max<uint64_t>(1, all_ns), time.self_ns / 1e6,
                        time.total_ns / 1e6, time.num_calls, name);
  }
  return text;
}

}  // namespace

StepProfiler::StepProfiler(fs::path folder, int rank, bool has_gpu, std::FILE* lines)
    : folder_(std::move(folder)),
      rank_(rank),
      has_gpu_(has_gpu),
      lines_(lines),
      is_over_(folder_.empty()) {
  if (is_over_) return;
  require_local(folder_);
  std::error_code error;
  fs::create_directories(folder_, error);
  require_done(error, folder_, "cannot make the folder of the profile");
}

StepProfiler::~StepProfiler() {
  try {
    finish();
  } catch (const std::exception&) {
    // The run ends with an error of its own.
  }
}

void StepProfiler::before_step() {
  if (is_over_) return;
  if (is_running_ && num_steps_ == kFirst && begin_ < kFirst) {
    profiler::disableProfiler();  // of steps that warm up
    is_running_ = false;
  }
  if (!is_running_) start();
}

void StepProfiler::after_step() {
  ++num_steps_;
  if (num_steps_ == kFirst + kCount) finish();
}

void StepProfiler::start() {
  setenv("KINETO_LOG_LEVEL", "99",
         /*overwrite=*/0);  // it would report the GPU that a CPU machine lacks as an error
  profiler::prepareProfiler(profiler_config(), activities(has_gpu_));
  profiler::enableProfiler(
      profiler_config(), activities(has_gpu_),
      {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
  is_running_ = true;
  begin_ = num_steps_;
}

void StepProfiler::finish() {
  if (std::exchange(is_over_, true)) return;
  std::string report = "no profile: the run had no step to measure";
  if (std::exchange(is_running_, false)) {
    const std::unique_ptr<profiler::ProfilerResult> result = profiler::disableProfiler();
    const fs::path trace = folder_ / fmt::format("trace-rank{}.json", rank_);
    const fs::path table = folder_ / fmt::format("operators-rank{}.txt", rank_);
    write_durably(table, operator_table(operator_times(result->events()), num_steps_ - begin_));
    result->save(trace.string());
    if (!fs::exists(trace)) {
      std::error_code ignored;
      fs::remove(trace.string() + ".tmp", ignored);  // libtorch's
      throw error_at(trace, ErrorCode::io,
                     "cannot be written; free some space, or raise the limit on the size of files "
                     "(ulimit -f)");
    }
    report =
        fmt::format("profile of {} steps: {} (open it in chrome://tracing or ui.perfetto.dev), {}",
                    num_steps_ - begin_, trace.string(), table.string());
  }
  if (lines_ != nullptr) fmt::print(lines_, "{}\n", report);
}

}  // namespace ffkit
