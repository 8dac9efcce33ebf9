#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <ffkit/trainer/measure.h>
#include <ffkit/trainer/stop.h>

#include "data/data_source.h"
#include "device/autocast.h"
#include "device/device.h"
#include "device/torch_errors.h"
#include "distributed/communicator.h"
#include "launch/waiting.h"
#include "model_factory.h"
#include "optim/host_scalar.h"
#include "optim/optimizer.h"
#include "report/meters.h"
#include "tasks/classification/training_step.h"

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

// Images a second, with more digits where they are few.
std::string text_of(double rate) {
  return fmt::format("{:.{}f}", rate, rate < 100 ? 2 : 1);
}

void check_not_stopped() {
  if (stop_signal() != 0)
    throw Error(ErrorCode::cancelled, "stopped when asked to, before anything was measured");
}

// Runs `step` as often as is measured and five times more; it returns how long it waited for data.
template <typename Step>
ThroughputMeter time_steps(int64_t num_steps, int64_t num_images, Step step) {
  ThroughputMeter meter;
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < num_steps + ThroughputMeter::kWarmupSteps; ++i) {
    check_not_stopped();
    const double wait_seconds = step();
    const Clock::time_point now = Clock::now();
    meter.add_step(num_images, std::chrono::duration<double>(now - start).count(), wait_seconds);
    start = now;
  }
  return meter;
}

// Batches without end.
class Endless {
 public:
  explicit Endless(BatchSource& source) : source_(source) { source_.start_epoch(epoch_); }
  TensorBatch next() {
    std::optional<TensorBatch> batch = source_.next();
    if (!batch) {
      source_.start_epoch(++epoch_);
      batch = source_.next();
    }
    if (!batch)
      throw Error(
          ErrorCode::invalid_argument,
          "the training split has fewer pictures than one batch; give a smaller --batch-size");
    return *batch;
  }

 private:
  BatchSource& source_;
  int64_t epoch_ = 0;
};

struct Setting {
  Setting(const TrainOptions& given, const ProcessPlace& place)
      : communicator(place, prepare_device(given, place)),
        options(given.resolved(place.world_size)) {}

  DataSource open_loader(int64_t& num_classes) const {
    const Dataset train = open_data(options, "train");
    num_classes = int64_t(class_list(train).size());
    return DataSource(train,
                      train_loader_options(options, communicator.place(), communicator.device()),
                      num_classes, 0, communicator.device());
  }

  Communicator communicator;
  const TrainOptions options;
};

// Training steps on what `source` gives.
ThroughputMeter time_training(Setting& s, BatchSource& source, int64_t num_classes) {
  const std::unique_ptr<Model> model = make_model(s.options, num_classes, s.communicator);
  if (s.options.sync_bn) model->synchronise_batch_norm(s.communicator);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(s.options, *model);
  TrainingStep step(s.options, *model, *optimizer, s.communicator);
  Endless batches(source);
  int64_t number = 0;
  std::optional<HostScalar> loss;
  return time_steps(num_measured_steps(s.options), s.options.global_batch_size, [&] {
    double wait_seconds = 0;
    for (int64_t i = 0; i < s.options.accumulate; ++i) {
      const TensorBatch batch = batches.next();
      wait_seconds += source.wait_seconds();
      if (i == 0) step.begin(number++);
      step.add(batch, i + 1 == s.options.accumulate);
    }
    // As in training: of a GPU's steps the one before is waited for.
    const std::optional<HostScalar> before =
        std::exchange(loss, HostScalar(step.end(s.options.lr)));
    if (before) before->get();
    return wait_seconds;
  });
}

double time_loader(Setting& s, DataSource& loader) {
  Endless batches(loader);
  // What was read ahead before the clock started does not count, and small batches are gone too fast to be timed by their number.
  const auto num_ahead = s.options.prefetch + ThroughputMeter::kWarmupSteps;
  for (int64_t i = 0; i < num_ahead; ++i) batches.next();
  const Clock::time_point start = Clock::now();
  int64_t num_batches = 0;
  double seconds = 0;
  while (num_batches < num_measured_steps(s.options) || seconds < kLoaderSeconds) {
    check_not_stopped();
    batches.next();
    ++num_batches;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  const double rate = double(num_batches * s.options.batch_size) / seconds;
  return s.communicator.sum(std::vector<double>{rate})[0];
}

}  // namespace

double measure_model(const TrainOptions& options, BenchmarkMode mode, const ProgressOutput& output,
                     const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    const Waiting waiting("measuring", Waiting::kNothingToLose);
    Setting s(options, place);
    DummySource source(s.options, kDummyClasses, num_measured_steps(options) * 2,
                       s.communicator.device());
    double rate = 0;
    if (mode == BenchmarkMode::step) {
      rate = time_training(s, source, kDummyClasses).images_per_second();
    } else {
      at::NoGradGuard no_grad;
      const std::unique_ptr<Model> model = make_model(s.options, kDummyClasses, s.communicator);
      model->set_training(false);
      Endless batches(source);
      const TensorBatch batch = batches.next();
      const ThroughputMeter meter =
          time_steps(num_measured_steps(options), s.options.batch_size, [&] {
            const Autocast autocast(s.options.amp, s.communicator.device());
            model->forward(batch.images).sum().item<float>();
            return 0.0;
          });
      rate = s.communicator.sum(std::vector<double>{meter.images_per_second()})[0];
    }
    say(output, s.communicator,
        fmt::format("model alone, {}: {} images/s",
                    mode == BenchmarkMode::step ? "training step" : "forward", text_of(rate)));
    return rate;
  });
}

double measure_loader(const TrainOptions& options, const ProgressOutput& output,
                      const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    const Waiting waiting("measuring", Waiting::kNothingToLose);
    Setting s(options, place);
    int64_t num_classes = 0;
    DataSource loader = s.open_loader(num_classes);
    const double rate = time_loader(s, loader);
    say(output, s.communicator,
        fmt::format("loader alone: {} images/s; {}", text_of(rate), loader.statistics().verdict()));
    return rate;
  });
}

Bottleneck measure_bottleneck(const TrainOptions& options, const ProgressOutput& output,
                              const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    const Waiting waiting("measuring", Waiting::kNothingToLose);
    Setting s(options, place);
    Bottleneck out;
    int64_t num_classes = 0;
    {
      DataSource loader = s.open_loader(num_classes);
      out.loader = time_loader(s, loader);
    }
    {
      DummySource noise(s.options, num_classes, num_measured_steps(options) * 2,
                        s.communicator.device());
      out.model = time_training(s, noise, num_classes).images_per_second();
    }
    {
      DataSource loader = s.open_loader(num_classes);
      const ThroughputMeter meter = time_training(s, loader, num_classes);
      out.both = meter.images_per_second();
      out.data_wait_share = meter.wait_share();
    }
    const char* limit =
        out.data_wait_share > 0.05
            ? "the loader: more --threads, or smaller pictures (ffconvert --max-resolution)"
        : out.loader < 1.2 * out.model ? "the model, but the loader has little to spare"
                                       : "the model";
    say(output, s.communicator,
        fmt::format("loader alone {}, model alone {}, both {} images/s; data wait {:.1f} %; the "
                    "limit is {}",
                    text_of(out.loader), text_of(out.model), text_of(out.both),
                    100 * out.data_wait_share, limit));
    return out;
  });
}

}  // namespace ffkit
