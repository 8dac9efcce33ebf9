// Classification: a picture's class from its pixels. The first task; its checkpoints are those from before there were tasks.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>
#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/task.h>

#include "checkpoint/weights.h"
#include "model/library_names.h"
#include "model/model_registry.h"
#include "model/zero_init_residual.h"
#include "models/blocks/image_model.h"
#include "tasks/classification/accuracy_meter.h"
#include "tasks/classification/classification_data.h"
#include "tasks/classification/classification_loss.h"
#include "tasks/classification/classification_python.h"

namespace ffkit {
namespace {

constexpr char kClasses[] = "classes";
constexpr int64_t kNoiseClasses = 1000;

std::vector<std::string> parse_classes(const TaskFacts& facts) {
  try {
    return nlohmann::json::parse(facts.at(kClasses)).get<std::vector<std::string>>();
  } catch (const std::exception&) {
    throw Error(ErrorCode::corrupt, "its part 'classes' is incomplete; it was changed by hand");
  }
}

class ClassificationEvaluation final : public Evaluation {
 public:
  explicit ClassificationEvaluation(ImageModel& model) : model_(model) {}

  void add(const DeviceBatch& batch) override {
    const at::Tensor logits = model_.forward(batch.field("image"));
    meter_.add(logits.to(at::kFloat), batch.field("label"));
  }
  EvalResult finish(Peers& peers) override {
    meter_.sum_over(peers);
    return meter_.result();
  }

 private:
  ImageModel& model_;
  AccuracyMeter meter_;
};

class ClassificationTask final : public Task {
 public:
  explicit ClassificationTask(TaskSetting setting)
      : Task(std::move(setting)), entry_(ModelRegistry::instance().find(own().arch)) {}

  void open() override {
    train_ = open_mixed_split(options(), {"train"}, classification_misfit);
    classes_ = class_list(*train_);
  }
  void open_noise() override {
    for (int64_t i = 0; i < kNoiseClasses; ++i) classes_.push_back(std::to_string(i));
  }
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }

  TaskFacts facts() const override { return {{kClasses, nlohmann::json(classes_).dump()}}; }
  void set_facts(const TaskFacts& facts) override { classes_ = parse_classes(facts); }
  std::string misfit(const TrainOptions& stored, const TaskFacts& facts) const override {
    if (classification(stored).arch != own().arch)
      return fmt::format("is of arch {}, but {} was asked for", classification(stored).arch,
                         own().arch);
    const std::vector<std::string> stored_classes = parse_classes(facts);
    if (stored_classes != classes_)
      return fmt::format("its {} classes are not the {} of the data set {}", stored_classes.size(),
                         classes_.size(), options().data.string());
    return {};
  }
  TaskFacts facts_of_weights(const std::vector<NamedTensor>& weights,
                             const std::filesystem::path& file) override;

  std::unique_ptr<BatchSource> training_batches(int64_t epoch) override {
    require_a_step(options(), *train_);
    if (!is_train_checked_) train_ = with_valid_labels(std::move(*train_), num_classes());
    is_train_checked_ = true;
    return std::make_unique<LoaderSource>(
        *train_, train_loader_options(options(), setting().place, setting().device, epoch),
        options().limit_batches * options().accumulate, setting().device);
  }
  bool shares_source(int64_t epoch, int64_t other) const override {
    return train_image_size(options(), epoch) == train_image_size(options(), other);
  }
  std::unique_ptr<BatchSource> validation_batches() override {
    val_ = with_valid_labels(open_val(options(), classes_), num_classes());
    return std::make_unique<LoaderSource>(
        *val_, val_loader_options(options(), setting().place, setting().device),
        options().limit_batches, setting().device);
  }
  DeviceBatch noise() override;
  std::vector<std::string> notes() const override {
    return train_ ? mixture_notes(options(), *train_, val_ ? &*val_ : nullptr)
                  : std::vector<std::string>();
  }

  Model& make_model() override {
    model_ = entry_.make({.num_classes = num_classes(), .image_size = own().image_size});
    if (own().zero_init_residual) zero_init_residual(*model_);
    if (own().channels_last) model_->use_channels_last();
    return *model_;
  }
  WeightRules weight_rules() const override {
    return {.name = entry_.name,
            .head = entry_.head,
            .rows = "classes",
            .choice = "--arch",
            .current_name = entry_.current_name};
  }

  at::Tensor loss(const DeviceBatch& batch) override {
    const at::Tensor logits = model_->forward(batch.field("image"));
    return classification_loss(logits.to(at::kFloat), batch.field("label"), batch.mix_lambda,
                               own().label_smoothing);
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return model_->forward(batch.field("image"));
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<ClassificationEvaluation>(*model_);
  }

 private:
  const ClassificationOptions& own() const { return classification(options()); }
  int64_t num_classes() const { return int64_t(classes_.size()); }

  const ModelEntry& entry_;
  std::vector<std::string> classes_;
  std::optional<Dataset> train_, val_;
  bool is_train_checked_ = false;
  std::unique_ptr<ImageModel> model_;
};

TaskFacts ClassificationTask::facts_of_weights(const std::vector<NamedTensor>& weights,
                                               const std::filesystem::path& file) {
  const int64_t classes = head_rows({.path = file, .tensors = weights}, weight_rules());
  classes_ = open_mixed_validation(options(), {"val"}, classification_misfit).manifest().classes;
  if (!classes_.empty() && int64_t(classes_.size()) != classes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("its {} classes are not the {} of the data set {}", classes,
                            classes_.size(), options().data.string()),
                {.path = file.string()});
  }
  if (classes_.empty()) {
    for (int64_t i = 0; i < classes; ++i) classes_.push_back(std::to_string(i));
  }
  return facts();
}

DeviceBatch ClassificationTask::noise() {
  const TrainOptions& o = options();
  const at::Generator generator = at::detail::createCPUGenerator(o.seed);
  at::Tensor images =
      at::randn({o.batch_size, 3, own().image_size, own().image_size}, generator, at::kFloat);
  if (own().channels_last) images = images.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor labels = at::arange(o.batch_size, at::kLong).remainder(num_classes());
  return {.size = o.batch_size,
          .fields = {{.name = "image", .values = images.to(setting().device)},
                     {.name = "label", .values = labels.to(setting().device)}}};
}

}  // namespace

void register_classification_task(TaskRegistry& registry) {
  registry.add(
      {.name = "classification",
       .summary = "the class of a picture, from fields 'image' and 'label'",
       .samples = "pictures",
       .units = "images",
       .metrics = {{.name = "loss"},
                   {.name = "top1", .title = "top-1", .scale = 100, .digits = 2, .unit = "%"},
                   {.name = "top5", .title = "top-5", .scale = 100, .digits = 2, .unit = "%"}},
       .best = "top1",
       .facts = {kClasses},
       .misfit = classification_misfit,
       .make =
           [](TaskSetting setting) {
             return std::make_unique<ClassificationTask>(std::move(setting));
           },
       .use_names_of =
           [](const TrainOptions& options, const TaskFacts& facts, const std::string& library,
              std::vector<NamedTensor>& tensors) {
             const ClassificationOptions& own = classification(options);
             use_names_of(library, own.arch, tensors);
             return library == "transformers"
                        ? transformers_config(own.arch, own.image_size, parse_classes(facts))
                        : std::string();
           },
       .python_model =
           [](const TrainOptions& options, const TaskFacts& facts) {
             return classification_python(options, int64_t(parse_classes(facts).size()));
           },
       .make_options = [] { return std::make_unique<ClassificationOptions>(); }});
}

}  // namespace ffkit
