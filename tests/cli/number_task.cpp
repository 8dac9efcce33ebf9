// fftrain with a task of its own: the number in the field "label" from a picture. It uses every
// part of the seam that a task has.
#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>

#include <ffkit/base/error.h>
#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/task.h>

#include "tools/common/programs.h"

namespace {

using namespace ffkit;

struct NumberOptions : OwnOptions<NumberOptions> {
  int64_t side = 16;
  double bias_lr = 1;
  int64_t team = 1;
  int64_t no_error_before = 0;

  void describe(OptionTable& table, const TrainOptions&) override {
    table.group("Number");
    table.add("side", side, "Width and height of pictures").require(side >= 4, "at least 4");
    table.add("bias-lr", bias_lr, "Learning rate of the bias, as a multiple of --lr")
        .require(bias_lr > 0, "positive");
    table.add("team", team, "Processes that compute the number together")
        .require(team >= 1 && 48 % team == 0, "a divisor of 48");
    table.add("no-error-before", no_error_before,
              "Validations before so many steps find a mean error that is not a number");
  }
};

// Its 48 features are shared among the processes that compute it; all have its weights.
struct NumberNet : torch::nn::Module {
  NumberNet() { register_module("linear", linear); }
  at::Tensor forward(const at::Tensor& images, Peers& team) {
    const int64_t size = 48 / team.world_size(), begin = size * team.rank();
    const at::Tensor features = at::adaptive_avg_pool2d(images, {4, 4}).flatten(1);
    const at::Tensor own =
        at::matmul(features.narrow(1, begin, size),
                   with_summed_gradient(linear->weight, team).narrow(1, begin, size).t());
    return (sum_of_peers(own, team) + linear->bias).squeeze(1);
  }
  torch::nn::Linear linear{48, 1};
};

class NumberEvaluation final : public Evaluation {
 public:
  NumberEvaluation(std::function<at::Tensor(const DeviceBatch&)> predict, bool has_error)
      : predict_(std::move(predict)), has_error_(has_error) {}

  void add(const DeviceBatch& batch) override {
    const at::Tensor guess = predict_(batch).to(at::kDouble);
    for (int64_t i = 0; i < batch.size; ++i) {
      const auto truth = double(batch.field("label")[i].item<int64_t>());
      rows_.push_back(at::zeros({2}, at::kDouble));
      rows_.back()[0] = double(batch.record_indices[size_t(i)]);
      rows_.back()[1] = guess[i].item<double>() - truth;
    }
  }
  EvalResult finish(Peers& peers) override {
    const at::Tensor own = rows_.empty() ? at::zeros({0, 2}, at::kDouble) : at::stack(rows_);
    all_ = peers.gather_rows(own);
    double sum = 0, worst = 0;
    int64_t count = 0;
    for (const at::Tensor& rows : all_) {
      if (rows.size(0) == 0) continue;
      const at::Tensor errors = rows.select(1, 1).abs();
      sum += errors.sum().item<double>();
      worst = std::max(worst, errors.max().item<double>());
      count += rows.size(0);
    }
    const double error = has_error_ ? sum / double(count) : std::nan("");
    return {.count = count, .metrics = {{"mean_error", error}, {"worst", worst}}};
  }
  void write_results(const std::filesystem::path& file) override {
    std::ofstream out(file);
    for (const at::Tensor& rows : all_) {
      for (int64_t i = 0; i < rows.size(0); ++i)
        out << rows[i][0].item<int64_t>() << ' ' << rows[i][1].item<double>() << '\n';
    }
    if (!out.flush()) throw Error(ErrorCode::io, "cannot write", {.path = file.string()});
  }

 private:
  std::function<at::Tensor(const DeviceBatch&)> predict_;
  bool has_error_;
  std::vector<at::Tensor> rows_, all_;  // record index, error
};

class NumberTask final : public Task {
 public:
  using Task::Task;

  void open() override {
    train_ = open_split(options(), "train");
    const std::vector<int64_t> labels = train_->int_column("label");
    mean_ = std::accumulate(labels.begin(), labels.end(), 0.0) / double(labels.size());
  }
  void open_noise() override {}
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }
  TaskFacts facts() const override { return {{"mean", std::to_string(mean_)}}; }
  void set_facts(const TaskFacts& facts) override { mean_ = std::stod(facts.at("mean")); }

  std::unique_ptr<BatchSource> training_batches(int64_t) override {
    require_a_step(options(), *train_);
    return source(*train_, Order::shuffle, Tail::drop, options().accumulate);
  }
  std::unique_ptr<BatchSource> validation_batches() override {
    return source(open_split(options(), "val"), Order::sequential, Tail::exact, 1);
  }
  DeviceBatch noise() override {
    const int64_t n = options().batch_size;
    return {.size = n,
            .fields = {{.name = "image", .values = at::randn({n, 3, own().side, own().side})},
                       {.name = "label", .values = at::zeros({n}, at::kLong)}}};
  }

  Model& make_model() override {
    net_ = std::make_shared<NumberNet>();
    model_.emplace(net_);
    return *model_;
  }
  ParameterSetting parameter_setting(const NamedTensor& p) const override {
    return p.name == "linear.bias" ? ParameterSetting{.lr_scale = own().bias_lr}
                                   : ParameterSetting{};
  }
  std::vector<NamedTensor> state() const override { return {{"steps", steps_}}; }

  // The first steps count more: what is kept between steps decides the bits.
  at::Tensor loss(const DeviceBatch& batch) override {
    steps_.add_(1);
    const at::Tensor error = forward(batch) - batch.field("label").to(at::kFloat);
    at::Tensor num_numbers = at::full({1}, double(batch.size), at::kDouble);
    setting().peers->sum(num_numbers);
    const double share = num_numbers.item<double>() / setting().peers->world_size();
    return error.square().sum() / share * (1 + 1 / steps_.item<double>());
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return net_->forward(batch.field("image"), *setting().peers_along.at("team")) + mean_;
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<NumberEvaluation>(
        [this](const DeviceBatch& b) { return forward(b); },
        steps_.item<double>() >= double(own().no_error_before));
  }

 private:
  const NumberOptions& own() const { return options().task_options<NumberOptions>(); }
  std::unique_ptr<BatchSource> source(const Dataset& data, Order order, Tail tail,
                                      int64_t batches_a_step) const {
    LoaderOptions o = common_loader_options(options(), setting().place, setting().device);
    o.sampler.order = order;
    o.sampler.tail = tail;
    o.image.transform = ResizeCenterCrop{.resize = own().side, .size = own().side};
    return std::make_unique<LoaderSource>(data, o, options().limit_batches * batches_a_step,
                                          setting().device);
  }

  std::optional<Dataset> train_;
  double mean_ = 0;  // of the numbers in training
  at::Tensor steps_ = at::zeros({1}, at::kDouble);
  std::shared_ptr<NumberNet> net_;
  std::optional<ModuleModel> model_;
};

}  // namespace

int main(int argc, char** argv) {
  TaskRegistry::instance().add(
      {.name = "number",
       .summary = "a number from a picture, from fields 'image' and 'label'",
       .samples = "pictures",
       .units = "numbers",
       .metrics = {{.name = "mean_error", .title = "mean error"}, {.name = "worst", .digits = 2}},
       .best = "mean_error",
       .is_lower_better = true,
       .facts = {"mean"},
       .results = "a line for each record: its number and its error",
       .misfit =
           [](const Schema& schema) {
             return schema.index_of("label") < 0 ? "the data set has no field 'label'" : "";
           },
       .make = [](TaskSetting setting) { return std::make_unique<NumberTask>(std::move(setting)); },
       .mesh =
           [](const TrainOptions& options) {
             return std::vector<MeshDimension>{
                 {.name = "team", .size = int(options.task_options<NumberOptions>().team)}};
           },
       .make_options = [] { return std::make_unique<NumberOptions>(); }});
  return run_fftrain(argc, argv);
}
