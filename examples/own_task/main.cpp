// A task and a model of one's own: the label of a picture as a number, by least squares.
//
//   own_task DATA WORKDIR     e.g. the folder that `ffconvert demo DATA` has made, and a folder for
//                             checkpoints
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/trainer.h>

namespace {

// On fftrain's command line these would be --side and --channels. Declared once: checks,
// checkpoints and config.toml read the same table.
struct NumberOptions : ffkit::OwnOptions<NumberOptions> {
  int64_t side = 32;
  int64_t channels = 8;

  void describe(ffkit::OptionTable& table, const ffkit::TrainOptions&) override {
    table.group("Number");
    table.add("side", side, "Width and height of pictures").require(side >= 8, "at least 8");
    table.add("channels", channels, "Channels of the network").require(channels >= 1, "at least 1");
  }
};

// A convolution, the mean over the picture, a linear layer.
struct NumberNet : torch::nn::Module {
  explicit NumberNet(int64_t channels)
      : convolution(torch::nn::Conv2dOptions(3, channels, 3)), linear(channels, 1) {
    register_module("convolution", convolution);
    register_module("linear", linear);
  }
  // [N,3,S,S] f32 -> [N] f32.
  at::Tensor forward(const at::Tensor& images) {
    return linear(convolution(images).relu().mean(at::IntArrayRef{2, 3})).squeeze(1);
  }
  torch::nn::Conv2d convolution;
  torch::nn::Linear linear;
};

at::Tensor truth_of(const ffkit::DeviceBatch& batch) {
  return batch.field("label").to(at::kFloat);
}

// The mean of |number - truth| over a split.
class MeanError final : public ffkit::Evaluation {
 public:
  explicit MeanError(NumberNet& net) : net_(net) {}

  void add(const ffkit::DeviceBatch& batch) override {
    const at::Tensor errors = (net_.forward(batch.field("image")) - truth_of(batch)).abs();
    sums_[0] += double(batch.size);
    sums_[1] += errors.sum().item<double>();
  }
  ffkit::EvalResult finish(ffkit::Peers& peers) override {
    peers.sum(sums_);
    const auto count = sums_[0].item<double>();
    return {.count = int64_t(count), .metrics = {{"mean_error", sums_[1].item<double>() / count}}};
  }

 private:
  NumberNet& net_;
  at::Tensor sums_ = at::zeros({2}, at::kDouble);  // samples, errors
};

class NumberTask final : public ffkit::Task {
 public:
  using Task::Task;

  void open() override { train_ = ffkit::open_split(options(), "train"); }
  void open_noise() override {}
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }

  std::unique_ptr<ffkit::BatchSource> training_batches(int64_t) override {
    require_a_step(options(), *train_);
    return source(*train_, ffkit::Order::shuffle, ffkit::Tail::drop);
  }
  std::unique_ptr<ffkit::BatchSource> validation_batches() override {
    return source(ffkit::open_split(options(), "val"), ffkit::Order::sequential,
                  ffkit::Tail::exact);
  }
  ffkit::DeviceBatch noise() override {
    const int64_t n = options().batch_size;
    const auto on_device = at::TensorOptions(setting().device);
    return {.size = n,
            .fields = {
                {.name = "image", .values = at::randn({n, 3, own().side, own().side}, on_device)},
                {.name = "label", .values = at::zeros({n}, on_device.dtype(at::kLong))}}};
  }

  ffkit::Model& make_model() override {
    net_ = std::make_shared<NumberNet>(own().channels);
    return model_.emplace(net_);
  }
  at::Tensor loss(const ffkit::DeviceBatch& batch) override {
    return (forward(batch) - truth_of(batch)).square().mean();
  }
  at::Tensor forward(const ffkit::DeviceBatch& batch) override {
    return net_->forward(batch.field("image"));
  }
  std::unique_ptr<ffkit::Evaluation> evaluation() override {
    return std::make_unique<MeanError>(*net_);
  }

 private:
  const NumberOptions& own() const { return options().task_options<NumberOptions>(); }
  std::unique_ptr<ffkit::BatchSource> source(const ffkit::Dataset& data, ffkit::Order order,
                                             ffkit::Tail tail) const {
    ffkit::LoaderOptions o =
        ffkit::common_loader_options(options(), setting().place, setting().device);
    o.sampler.order = order;
    o.sampler.tail = tail;
    o.image.transform = ffkit::ResizeCenterCrop{.resize = own().side, .size = own().side};
    return std::make_unique<ffkit::LoaderSource>(data, o, /*limit_batches=*/0, setting().device);
  }

  std::optional<ffkit::Dataset> train_;
  std::shared_ptr<NumberNet> net_;
  std::optional<ffkit::ModuleModel> model_;
};

void run(const char* data, const char* work_dir) {
  ffkit::TaskRegistry::instance().add(
      {.name = "number",
       .summary = "a number from a picture, from fields 'image' and 'label'",
       .samples = "pictures",
       .units = "images",
       .metrics = {{.name = "mean_error", .title = "mean error"}},
       .best = "mean_error",
       .is_lower_better = true,
       .misfit =
           [](const ffkit::Schema& schema) {
             return schema.index_of("label") < 0 ? "the data set has no field 'label'" : "";
           },
       .make =
           [](ffkit::TaskSetting setting) {
             return std::make_unique<NumberTask>(std::move(setting));
           },
       .make_options = [] { return std::make_unique<NumberOptions>(); }});

  ffkit::TrainOptions options;
  options.task = "number";
  options.data = data;
  options.work_dir = work_dir;
  options.epochs = 4;
  options.batch_size = 8;
  options.lr = 0.01;
  options.task_options<NumberOptions>().side = 16;
  ffkit::train(options);
  const ffkit::EvalResult result = ffkit::evaluate(options, options.work_dir, {.lines = nullptr});
  std::printf("off by %.3f in the mean of %lld pictures\n", result.value("mean_error"),
              static_cast<long long>(result.count));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: own_task DATA WORKDIR\n");
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_task: error: %s\n", error.what());
    return 1;
  }
}
