#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/launch/stop.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/trainer.h>

#include "base/make_error.h"
#include "device/device.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "launch/waiting.h"
#include "report/progress.h"
#include "step/training_step.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLoaderSeconds = 2;  // at least

int64_t num_measured_steps(const TrainOptions& options) {
  return options.limit_batches > 0 ? options.limit_batches : 20;
}

void say(const ProgressOutput& output, const Communicator& communicator, const std::string& line) {
  if (output.lines == nullptr || communicator.rank() != 0) return;
  fmt::print(output.lines, "{}\n", line);
  std::fflush(output.lines);
}

// Units a second, with more digits where they are few.
std::string text_of(double rate) {
  return fmt::format("{:.{}f}", rate, rate < 1 ? 4 : rate < 100 ? 2 : 1);
}

void check_not_stopped() {
  if (stop_signal() != 0)
    throw Error(ErrorCode::cancelled, "stopped on request before anything was measured");
}

// Runs `step` as often as is measured and five times more; it returns how long it waited for data.
template <typename Step>
ThroughputMeter time_steps(int64_t num_steps, double num_units, Step step) {
  ThroughputMeter meter;
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < num_steps + ThroughputMeter::kWarmupSteps; ++i) {
    check_not_stopped();
    const double wait_seconds = step();
    const Clock::time_point now = Clock::now();
    meter.add_step(num_units, std::chrono::duration<double>(now - start).count(), wait_seconds);
    start = now;
  }
  return meter;
}

// Batches without end.
class EndlessSource final : public BatchSource {
 public:
  explicit EndlessSource(BatchSource& source) : source_(source) { source_.set_epoch(epoch_); }

  int64_t num_batches() const override { return std::numeric_limits<int64_t>::max(); }
  void set_epoch(int64_t epoch) override { source_.set_epoch(epoch_ = epoch); }
  void restore(const LoaderState& state) override { source_.restore(state); }
  LoaderState state() const override { return source_.state(); }
  std::optional<DeviceBatch> next() override {
    std::optional<DeviceBatch> batch = source_.next();
    if (!batch) {
      source_.set_epoch(++epoch_);
      batch = source_.next();
    }
    if (!batch)
      throw error_of(ErrorCode::invalid_argument,
                     "the training split has fewer samples than one batch; give a smaller {}",
                     option_name("batch_size"));
    return batch;
  }
  double wait_seconds() const override { return source_.wait_seconds(); }

 private:
  BatchSource& source_;
  int64_t epoch_ = 0;
};

struct Setting {
  Setting(const TrainOptions& given, const ProcessPlace& place)
      : communicator(place, prepare_device(given, place)),
        mesh(with_task(given), communicator),
        options(with_task(given).resolved(mesh.data().world_size())),
        entry(TaskRegistry::instance().find(options.task_name())) {}

  // A task whose data is open, or for noise.
  std::unique_ptr<Task> open_task(bool has_data) {
    std::unique_ptr<Task> task = make_task(options, mesh);
    has_data ? task->open() : task->open_noise();
    return task;
  }

  Communicator communicator;
  const RunMesh mesh;
  const TrainOptions options;
  const TaskEntry& entry;
};

std::unique_ptr<BatchSource> noise_source(Task& task) {
  return std::make_unique<RepeatedBatch>(task.noise(), 1);
}

// Training steps on what `source` gives.
ThroughputMeter time_training(Setting& s, Task& task, BatchSource& source) {
  TrainedModel trained(task, s.options, s.mesh.data());
  EndlessSource batches(source);
  int64_t number = 0;
  std::optional<HostScalar> loss;
  const double units = s.options.global_batch_size * task.units_per_sample();
  return time_steps(num_measured_steps(s.options), units, [&] {
    TrainingStep::Result step = *trained.step.run(batches, number++, s.options.lr);
    // As in training: of a GPU's steps the one before is waited for.
    const std::optional<HostScalar> before = std::exchange(loss, std::move(step.loss));
    if (before) before->get();
    return step.wait_seconds;
  });
}

double time_loader(Setting& s, const Task& task, BatchSource& loader) {
  EndlessSource batches(loader);
  // What was read ahead before the clock started does not count, and small batches are gone too
  // fast to be timed by their number.
  const auto num_ahead = s.options.prefetch_batches + ThroughputMeter::kWarmupSteps;
  for (int64_t i = 0; i < num_ahead; ++i) batches.next();
  const Clock::time_point start = Clock::now();
  int64_t num_batches = 0;
  double seconds = 0;
  while (num_batches < num_measured_steps(s.options) || seconds < kLoaderSeconds) {
    check_not_stopped();
    batches.next();
    ++num_batches;
    seconds = seconds_since(start);
  }
  const double rate = num_batches * s.options.batch_size * task.units_per_sample() / seconds;
  return s.mesh.data().sum(std::vector<double>{rate})[0];
}

// What `measure` finds with the setting of the options.
template <typename Measure>
auto measured(const TrainOptions& options, const ProcessPlace& place, Measure measure) {
  return with_torch_errors([&] {
    validate(options);
    const Waiting waiting("measuring", Waiting::kNothingToLose);
    Setting setting(options, place);
    return measure(setting);
  });
}

}  // namespace

double measure_model(const TrainOptions& options, BenchmarkMode mode, const ProgressOutput& output,
                     const ProcessPlace& place) {
  return measured(options, place, [&](Setting& s) {
    const std::unique_ptr<Task> task = s.open_task(/*has_data=*/false);
    double rate = 0;
    if (mode == BenchmarkMode::step) {
      rate = time_training(s, *task, *noise_source(*task)).units_per_second();
    } else {
      at::NoGradGuard no_grad;
      make_model(*task, s.options, s.communicator).set_training(false);
      const DeviceBatch batch = task->noise();
      const double units = s.options.batch_size * task->units_per_sample();
      const ThroughputMeter meter = time_steps(num_measured_steps(options), units, [&] {
        const Autocast autocast(s.options.amp, s.communicator.device());
        task->forward(batch).sum().item<float>();
        return 0.0;
      });
      rate = s.mesh.data().sum(std::vector<double>{meter.units_per_second()})[0];
    }
    say(output, s.communicator,
        fmt::format("only the model, {}: {} {}/s",
                    mode == BenchmarkMode::step ? "training step" : "forward", text_of(rate),
                    s.entry.units));
    return rate;
  });
}

double measure_loader(const TrainOptions& options, const ProgressOutput& output,
                      const ProcessPlace& place) {
  return measured(options, place, [&](Setting& s) {
    const std::unique_ptr<Task> task = s.open_task(/*has_data=*/true);
    const std::unique_ptr<BatchSource> loader = task->training_batches(0);
    const double rate = time_loader(s, *task, *loader);
    const std::string verdict = loader->verdict();
    say(output, s.communicator,
        fmt::format("only the loader: {} {}/s{}{}", text_of(rate), s.entry.units,
                    verdict.empty() ? "" : "; ", verdict));
    return rate;
  });
}

Bottleneck measure_bottleneck(const TrainOptions& options, const ProgressOutput& output,
                              const ProcessPlace& place) {
  return measured(options, place, [&](Setting& s) {
    Bottleneck out;
    {
      const std::unique_ptr<Task> task = s.open_task(/*has_data=*/true);
      out.loader = time_loader(s, *task, *task->training_batches(0));
    }
    {
      const std::unique_ptr<Task> task = s.open_task(/*has_data=*/true);
      out.model = time_training(s, *task, *noise_source(*task)).units_per_second();
    }
    {
      const std::unique_ptr<Task> task = s.open_task(/*has_data=*/true);
      const ThroughputMeter meter = time_training(s, *task, *task->training_batches(0));
      out.both = meter.units_per_second();
      out.data_wait_share = meter.wait_share();
    }
    const std::string limit =
        out.data_wait_share > 0.05
            ? fmt::format("the loader: give more --num-threads, or smaller {}", s.entry.samples)
        : out.loader < 1.2 * out.model ? "the model, but the loader is only a little faster"
                                       : "the model";
    say(output, s.communicator,
        fmt::format("loader alone {}, model alone {}, both {} {}/s; data wait {:.1f} %; the "
                    "limit is {}",
                    text_of(out.loader), text_of(out.model), text_of(out.both), s.entry.units,
                    100 * out.data_wait_share, limit));
    return out;
  });
}

}  // namespace ffkit
