// Classification: a picture's class from its pixels.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

#include "base/json_text.h"
#include "base/make_error.h"
#include "checkpoint/weights.h"
#include "data/picture_source.h"
#include "data/warning.h"
#include "model/model_registry.h"
#include "model/parameters.h"
#include "models/blocks/image_model.h"
#include "tasks/classification/classification_data.h"
#include "tasks/classification/classification_loss.h"
#include "tasks/classification/predictions.h"

namespace ffkit {
namespace {

constexpr char kClasses[] = "classes", kPictures[] = "pictures";
constexpr int64_t kNoiseClasses = 1000;

std::vector<std::string> parse_classes(const TaskFacts& facts) {
  try {
    return nlohmann::json::parse(facts.at(kClasses)).get<std::vector<std::string>>();
  } catch (const std::exception&) {
    throw Error(ErrorCode::corrupt,
                "its part 'classes' is incomplete; the file was changed by hand");
  }
}

PythonModel classification_python(const TrainOptions& options, int64_t num_classes) {
  const ClassificationOptions& own = classification(options);
  // The one model whose tensors depend on the size of the pictures.
  const std::string size =
      own.arch.starts_with("vit") ? fmt::format(", image_size={}", own.image_size) : "";
  return {.packages = "torch torchvision",
          .code = fmt::format(R"(import torchvision

# RGB, each channel less ImageNet's mean and divided by its deviation.
INPUTS = {{'images': torch.randn(2, 3, {0}, {0})}}
OUTPUTS = ['logits']


def make_model(weights):
    model = torchvision.models.{1}(num_classes={2}{3})
    model.load_state_dict(weights)
    return model
)",
                              own.image_size, own.arch, num_classes, size)};
}

// As a person writes them: 0.485, not the number that is nearest in f32.
std::vector<double> decimals(const std::array<float, 3>& numbers) {
  std::vector<double> out;
  for (const float number : numbers) out.push_back(std::stod(fmt::format("{}", number)));
  return out;
}

// How pictures are prepared for the network.
std::string prepared_pictures(const ClassificationOptions& own) {
  const ImageOutput output;
  return json_text(
      nlohmann::ordered_json{{"resize", own.resolved_eval_resize()},
                             {"crop", "center"},
                             {"size", own.resolved_eval_size()},
                             {"filter", std::string(to_string(own.interpolation))},
                             {"antialias", own.interpolation != Interpolation::opencv_bilinear},
                             {"channels", "RGB"},
                             {"mean", decimals(output.mean)},
                             {"std", decimals(output.std)}});
}

// The same as transformers' pipeline() reads it: preprocessor_config.json.
std::string transformers_preprocessor(const ClassificationOptions& own) {
  const ImageOutput output;
  constexpr int kBilinear = 2, kBicubic = 3;  // of Pillow
  const int64_t size = own.resolved_eval_size();
  const nlohmann::ordered_json json = {
      {"image_processor_type", "CLIPImageProcessor"},
      {"do_convert_rgb", true},
      {"do_resize", true},
      {"size", {{"shortest_edge", own.resolved_eval_resize()}}},
      {"resample", own.interpolation == Interpolation::bicubic ? kBicubic : kBilinear},
      {"do_center_crop", true},
      {"crop_size", {{"height", size}, {"width", size}}},
      {"do_rescale", true},
      {"rescale_factor", 1.0 / 255},
      {"do_normalize", true},
      {"image_mean", decimals(output.mean)},
      {"image_std", decimals(output.std)}};
  return json.dump(2) + "\n";
}

class ClassificationEvaluation final : public Evaluation {
 public:
  // `names`: of the records, asked for when they are to be written.
  ClassificationEvaluation(ImageModel& model, const std::vector<std::string>& classes,
                           std::function<std::vector<PredictedRecord>()> names)
      : model_(model), classes_(classes), names_(std::move(names)) {}

  void keep_predictions() override { keeps_ = true; }
  void add(const DeviceBatch& batch) override {
    const at::Tensor logits = model_.forward(batch.field("image")).to(at::kFloat);
    const at::Tensor labels = batch.has("label") ? batch.field("label") : at::Tensor();
    if (labels.defined()) meter_.add(logits, labels);
    if (keeps_) rows_.push_back(prediction_rows(batch.record_indices, labels, logits));
  }
  EvalResult finish(Peers& peers) override {
    meter_.sum_over(peers);
    EvalResult result = meter_.result();
    if (!keeps_) return result;
    rows_.insert(rows_.begin(), prediction_rows({}, {}, at::zeros({0, std::ssize(classes_)})));
    all_ = predictions_of(peers.gather_rows(at::cat(rows_)));
    // Every process has to know it.
    at::Tensor num_seen = at::full({1}, at::cat(rows_).size(0), at::kDouble);
    peers.sum(num_seen);
    if (result.count > 0) return result;
    return {.count = num_seen.item<int64_t>(), .no_metrics = "there are no labels"};
  }
  void write_results(const std::filesystem::path& file) override {
    write_predictions(file, all_, classes_, names_());
  }
  std::string write_confusion(const std::filesystem::path& file) override {
    const ConfusionMatrix matrix = confusion_of(all_, classes_);
    ffkit::write_confusion(file, matrix);
    return confusion_table(matrix);
  }

 private:
  ImageModel& model_;
  const std::vector<std::string>& classes_;
  std::function<std::vector<PredictedRecord>()> names_;
  AccuracyMeter meter_;
  bool keeps_ = false;
  std::vector<at::Tensor> rows_;
  std::vector<Prediction> all_;  // on rank 0
};

class ClassificationTask final : public Task {
 public:
  explicit ClassificationTask(TaskSetting setting)
      : Task(std::move(setting)), entry_(ModelRegistry::instance().find(own().arch)) {}

  void open() override {
    train_ = open_train(options());
    classes_ = class_list(*train_, [this] { return head_bytes_per_class(); });
  }
  void open_noise() override {
    for (int64_t i = 0; i < kNoiseClasses; ++i) classes_.push_back(std::to_string(i));
  }
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }

  TaskFacts facts() const override { return {{kClasses, json_text(nlohmann::json(classes_))}}; }
  void set_facts(const TaskFacts& facts) override { classes_ = parse_classes(facts); }
  std::string misfit(const TrainOptions& stored, const TaskFacts& facts) const override {
    if (classification(stored).arch != own().arch)
      return fmt::format("the checkpoint has the arch {}, but this run has the arch {}",
                         classification(stored).arch, own().arch);
    const std::vector<std::string> stored_classes = parse_classes(facts);
    if (stored_classes != classes_)
      return fmt::format(
          "the {} classes of this checkpoint differ from the {} classes of the data set {}: {}",
          stored_classes.size(), classes_.size(), options().data.string(),
          class_difference(stored_classes, classes_));
    return {};
  }
  TaskFacts facts_of_weights(const std::vector<NamedTensor>& weights,
                             const std::filesystem::path& file) override;

  std::unique_ptr<BatchSource> training_batches(int64_t epoch) override {
    require_a_step(options(), *train_);
    if (!is_train_checked_) train_ = with_valid_labels(std::move(*train_), num_classes());
    is_train_checked_ = true;
    LoaderOptions loader =
        train_loader_options(options(), setting().place, setting().device, epoch);
    if (own().balance) {
      loader.sampler.order = Order::weighted;
      loader.sampler.weights = std::make_shared<const std::vector<double>>(
          class_balanced_weights(train_->int_column("label")));
    }
    if (!own().class_weights.empty() && !class_weights_.defined()) {
      class_weights_ = class_weights(own().class_weights, classes_, train_->int_column("label"))
                           .to(setting().device);
    }
    return std::make_unique<LoaderSource>(*train_, std::move(loader),
                                          options().limit_batches * options().accumulate,
                                          setting().device);
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
  std::unique_ptr<BatchSource> prediction_batches() override;
  DeviceBatch noise() override;
  std::vector<std::string> notes() const override {
    if (!train_) return {};
    std::vector<std::string> notes = mixture_notes(options(), *train_, val_ ? &*val_ : nullptr);
    if (own().val_share > 0 && val_) {
      notes.push_back(fmt::format("{}: {} records are for validation, {} for training",
                                  train_->path().string(), val_->num_records(),
                                  train_->num_records()));
    }
    return notes;
  }

  Model& make_model() override {
    model_ = entry_.make(
        {.num_classes = num_classes(), .dropout = own().dropout, .image_size = own().image_size});
    if (own().zero_init_residual) zero_init_residual(*model_);
    if (own().channels_last) model_->use_channels_last();
    return *model_;
  }
  WeightRules weight_rules() const override {
    return {.name = entry_.name,
            .head = entry_.head,
            .rows = "classes",
            .choice = option_name("arch"),
            .current_name = entry_.current_name};
  }

  at::Tensor loss(const DeviceBatch& batch) override {
    const at::Tensor logits = model_->forward(batch.field("image"));
    return classification_loss(logits.to(at::kFloat), batch.field("label"), batch.mix_lambda,
                               own().label_smoothing, class_weights_);
  }
  at::Tensor loss_weight(const DeviceBatch& batch) override {
    if (!class_weights_.defined()) return {};
    return class_weights_.index_select(0, batch.field("label")).to(at::kDouble).mean();
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return model_->forward(batch.field("image"));
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<ClassificationEvaluation>(*model_, classes_,
                                                      [this] { return record_names(); });
  }

 private:
  const ClassificationOptions& own() const { return classification(options()); }
  int64_t num_classes() const { return std::ssize(classes_); }
  // A row of the head's weights with its gradient, and the name.
  int64_t head_bytes_per_class() const {
    const auto one = entry_.make({.num_classes = 1, .image_size = own().image_size});
    const std::vector<NamedTensor> all = one->parameters();
    const auto head = std::ranges::find(all, entry_.head + ".weight", &NamedTensor::name);
    return sizeof(std::string) + (head == all.end() ? 0 : 2 * head->tensor.nbytes());
  }
  // Of what is evaluated. A record without an id is called by its number.
  std::vector<PredictedRecord> record_names() const {
    std::vector<PredictedRecord> names;
    if (!val_) {
      for (const std::string& name : picture_names_) names.push_back({std::ssize(names), name});
      return names;
    }
    const std::optional<std::vector<std::string>> ids = record_ids(*val_);
    for (int64_t i = 0; i < val_->num_records(); ++i) {
      const int64_t record = val_->index_in_split(i);
      names.push_back({record, ids ? (*ids)[i] : std::to_string(record)});
    }
    return names;
  }

  const ModelEntry& entry_;
  std::vector<std::string> classes_;
  std::optional<Dataset> train_, val_;
  std::vector<std::string> picture_names_;  // of predictions without a data set
  bool is_train_checked_ = false;
  at::Tensor class_weights_;  // [C]; undefined: none
  std::unique_ptr<ImageModel> model_;
};

std::unique_ptr<BatchSource> ClassificationTask::prediction_batches() {
  const std::filesystem::path& data = options().data.only();
  LoaderOptions loader = val_loader_options(options(), setting().place, c10::kCPU);
  val_ = open_to_predict(options());
  if (!val_) {
    PictureFiles files = list_pictures(data);
    if (files.names.empty()) {
      throw error_at(data, ErrorCode::not_found, "contains neither a data set nor pictures{}",
                     files.left_out().empty() ? "" : "; " + files.left_out());
    }
    if (!files.left_out().empty() && setting().place.rank == 0) {
      warn_on_stderr(fmt::format("{}: {}", data.string(), files.left_out()));
    }
    picture_names_ = files.names;
    return std::make_unique<PictureSource>(files.folder, std::move(files.names), loader.image,
                                           options(), setting().place, setting().device);
  }
  const std::vector<std::string>& own = val_->manifest().classes;
  const bool has_labels = val_->schema().index_of("label") >= 0;
  if (!has_labels || (!own.empty() && own != classes_)) {
    if (has_labels && setting().place.rank == 0) {
      warn_on_stderr(fmt::format(
          "{}: the {} classes of this data set differ from the {} classes of the model ({}), so "
          "ffkit ignores the labels of this data set",
          val_->path().string(), own.size(), num_classes(), class_difference(own, classes_)));
    }
    loader.label_field.clear();
  } else {
    val_ = with_valid_labels(std::move(*val_), num_classes());
  }
  if (setting().device.is_cuda()) {
    const std::string labels = loader.label_field;
    loader = val_loader_options(options(), setting().place, setting().device);
    loader.label_field = labels;
  }
  return std::make_unique<LoaderSource>(*val_, std::move(loader), options().limit_batches,
                                        setting().device);
}

TaskFacts ClassificationTask::facts_of_weights(const std::vector<NamedTensor>& weights,
                                               const std::filesystem::path& file) {
  const int64_t classes = head_rows({.path = file, .tensors = weights}, weight_rules());
  const TaskFacts described = read_description(file);
  if (described.contains(kClasses) && described.contains(kPictures)) {
    classes_ = parse_classes(described);
    const std::string here = prepared_pictures(own());
    if (here != described.at(kPictures)) {
      warn_on_stderr(
          fmt::format("{}: the pictures of the model were prepared as {}, but here the pictures "
                      "are prepared as {}",
                      file.string(), described.at(kPictures), here));
    }
  }
  // Of weights that do not say it, they are those of the data.
  try {
    if (classes_.empty()) classes_ = open_val(options()).manifest().classes;
  } catch (const Error& error) {
    // What is predicted needs no labels, and a validation will say it.
    if (error.code() != ErrorCode::not_found) throw;
  }
  if (!classes_.empty() && std::ssize(classes_) != classes) {
    throw error_at(file, ErrorCode::invalid_argument,
                   "the weights have {} classes, but the data set {} has {} classes", classes,
                   options().data.string(), classes_.size());
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
       .results = "class, score and the five likeliest classes of each picture, .jsonl or .csv",
       .result_endings = {".jsonl", ".csv"},
       .confusion_endings = {".json", ".csv"},
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
             TaskFacts beside;
             if (library == "transformers") {
               beside["config.json"] =
                   transformers_config(own.arch, own.image_size, parse_classes(facts));
               beside["preprocessor_config.json"] = transformers_preprocessor(own);
             }
             return beside;
           },
       .describe_weights =
           [](const TrainOptions& options, const TaskFacts& facts) {
             TaskFacts described = facts;
             described[kPictures] = prepared_pictures(classification(options));
             return described;
           },
       .python_model =
           [](const TrainOptions& options, const TaskFacts& facts) {
             return classification_python(options, std::ssize(parse_classes(facts)));
           },
       .make_options = [] { return std::make_unique<ClassificationOptions>(); }});
}

}  // namespace ffkit
