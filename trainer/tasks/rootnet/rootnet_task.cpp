// RootNet (Moon et al., 2019): a person's root joint in three dimensions from a crop.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <ffkit/pose/person_record.h>
#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/rootnet.h>
#include <ffkit/trainer/task.h>

#include "base/make_error.h"
#include "tasks/rootnet/data/rootnet_data.h"
#include "tasks/rootnet/evaluation/root_evaluation.h"
#include "tasks/rootnet/network/rootnet_network.h"
#include "tasks/rootnet/network/rootnet_python.h"

namespace ffkit {
namespace {

class RootNetTask final : public Task {
 public:
  explicit RootNetTask(TaskSetting setting)
      : Task(std::move(setting)), config_(rootnet_config(own().arch)) {}

  void open() override { train_ = open_training_persons(options(), own().train_split); }
  void open_noise() override {}
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }
  std::string misfit(const TrainOptions& stored, const TaskFacts& /*facts*/) const override {
    const std::string& other = rootnet(stored).arch;
    if (other == own().arch) return {};
    return fmt::format("is of arch {}, but {} was asked for", other, own().arch);
  }
  TaskFacts facts_of_weights(const std::vector<NamedTensor>& /*weights*/,
                             const std::filesystem::path& /*file*/) override {
    return {};
  }

  std::unique_ptr<BatchSource> training_batches(int64_t /*epoch*/) override {
    require_a_step(options(), *train_);
    return std::make_unique<LoaderSource>(
        *train_,
        person_loader_options(options(), setting().place, setting().device, train_->schema(), true),
        options().limit_batches * options().accumulate, setting().device);
  }
  std::unique_ptr<BatchSource> validation_batches() override;
  DeviceBatch noise() override;
  std::vector<std::string> notes() const override {
    return train_ ? mixture_notes(options(), *train_, val_ ? &*val_ : nullptr)
                  : std::vector<std::string>();
  }

  Model& make_model() override {
    network_ = std::make_shared<RootNetNetwork>(config_);
    model_ = std::make_unique<ModuleModel>(network_);
    model_->use_channels_last();
    return *model_;
  }
  void load_initial_weights() override {
    if (own().backbone_weights.empty()) return;
    weight_notes_ = load_rootnet_backbone(own().backbone_weights.string(), options().weights_key,
                                          own().arch, *network_);
  }
  std::vector<std::string> weight_notes() const override { return weight_notes_; }
  WeightRules weight_rules() const override {
    return {.name = "RootNet with " + own().arch, .choice = "--arch"};
  }

  at::Tensor loss(const DeviceBatch& batch) override {
    const BatchTarget target = target_of(batch);
    return rootnet_losses(network_->forward(network_input(batch), target.k), target.coordinates,
                          target.visible, target.have_depth)
        .mean();
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return network_->forward(network_input(batch), target_of(batch).k);
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<RootNetEvaluation>(*network_, *val_, own().resolved_image_size() / 4,
                                               own().ap_threshold);
  }

 private:
  const RootNetOptions& own() const { return rootnet(options()); }

  const RootNetConfig config_;
  std::optional<Dataset> train_, val_;
  std::shared_ptr<RootNetNetwork> network_;
  std::vector<std::string> weight_notes_;
  std::unique_ptr<ModuleModel> model_;
};

std::unique_ptr<BatchSource> RootNetTask::validation_batches() {
  val_ = open_validation_persons(options(), own().val_split);
  // Said before a training begins; an evaluation may write results without a metric.
  if (train_) {
    const std::vector<int64_t> depths = val_->int_column(pose::person::kHasDepth);
    if (std::ranges::find(depths, 1) == depths.end()) {
      throw dataset_error(
          val_->path(), ErrorCode::invalid_argument,
          "has no person whose depth is known to validate against; give another --val-split");
    }
  }
  return std::make_unique<LoaderSource>(
      *val_,
      person_loader_options(options(), setting().place, setting().device, val_->schema(), false),
      options().limit_batches, setting().device);
}

DeviceBatch RootNetTask::noise() {
  const int64_t size = own().resolved_image_size();
  const int64_t count = options().batch_size;
  const at::Generator generator = at::detail::createCPUGenerator(options().seed);
  const at::Tensor crops = at::randint(0, 256, {count, size, size, 3}, generator, at::kByte);
  const auto middle = static_cast<float>(size) / 8;
  const at::Tensor target =
      at::tensor({middle, middle, 4000.0F, 1.0F, 1.0F, 4000.0F, 1.0F, 1.0F, 1.0F}, at::kFloat)
          .repeat({count, 1});
  return {.size = count,
          .fields = {{.name = "crop", .values = crops.to(setting().device)},
                     {.name = "target", .values = target.to(setting().device)}}};
}

}  // namespace

void register_rootnet_task(TaskRegistry& registry) {
  registry.add(
      {.name = "rootnet",
       .summary = "a person's root joint in three dimensions from a crop, on records of persons",
       .samples = "persons",
       .units = "persons",
       .metrics = root_metrics(),
       .best = "mrpe",
       .is_lower_better = true,
       .results = "roots as RootNet's bbox_root_*_output.json",
       .misfit = rootnet_misfit,
       .make =
           [](TaskSetting setting) { return std::make_unique<RootNetTask>(std::move(setting)); },
       .python_model =
           [](const TrainOptions& options, const TaskFacts& /*facts*/) {
             const RootNetOptions& own = rootnet(options);
             return rootnet_python(rootnet_config(own.arch), own.resolved_image_size());
           },
       .make_options = [] { return std::make_unique<RootNetOptions>(); }});
}

}  // namespace ffkit
