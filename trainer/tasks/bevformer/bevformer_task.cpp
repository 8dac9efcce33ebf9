// BEVFormer (Li et al., 2022): objects in three dimensions from six cameras and the frames before.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/nuscenes/detection.h>
#include <ffkit/nuscenes/windows.h>
#include <ffkit/trainer/bevformer.h>
#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/task.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "checkpoint/weights.h"
#include "tasks/bevformer/data/bevformer_data.h"
#include "tasks/bevformer/evaluation/detection_evaluation.h"
#include "tasks/bevformer/loss/detection_loss.h"
#include "tasks/bevformer/network/bevformer_config.h"
#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {
namespace {

constexpr char kBackbonePrefix[] = "img_backbone.";
constexpr int64_t kNoiseObjects = 20;

class BevFormerTask final : public Task {
 public:
  explicit BevFormerTask(TaskSetting setting)
      : Task(std::move(setting)), config_(bevformer_config(own().arch)) {}

  void open() override {
    train_ = open_keyframes(options(), own().train_split);
    picture_size_ = network_picture_size(train_->keyframes, own());
  }
  std::string fingerprint() const override { return train_ ? train_->keyframes.fingerprint() : ""; }
  std::string misfit(const TrainOptions& stored, const TaskFacts& /*facts*/) const override {
    const std::string& other = bevformer(stored).arch;
    if (other == own().arch) return {};
    return fmt::format("the checkpoint has the arch {}, but this run has the arch {}", other,
                       own().arch);
  }

  std::unique_ptr<BatchSource> training_batches(int64_t epoch) override;
  // Windows and repeated keyframes are drawn anew.
  bool shares_source(int64_t epoch, int64_t other) const override { return epoch == other; }
  std::unique_ptr<BatchSource> validation_batches() override;
  DeviceBatch noise() override;
  std::vector<std::string> notes() const override;

  Model& make_model() override {
    network_ = std::make_shared<BevFormerNetwork>(config_);
    network_->set_recompute(own().recompute);
    model_ = std::make_unique<ModuleModel>(network_);
    return *model_;
  }
  void load_initial_weights() override {
    if (own().backbone_weights.empty()) return;
    ModuleModel backbone(network_->backbone());
    weight_notes_ =
        load_backbone(own().backbone_weights, options().weights_key, config_.backbone, backbone);
  }
  std::vector<std::string> weight_notes() const override { return weight_notes_; }
  WeightRules weight_rules() const override {
    return {.name = "bevformer_" + own().arch, .choice = option_name("arch")};
  }
  ParameterSetting parameter_setting(const NamedTensor& parameter) const override {
    const bool is_backbone = parameter.name.starts_with(kBackbonePrefix);
    return {.lr_scale = is_backbone ? own().backbone_lr : 1};
  }

  void set_epoch(int64_t epoch) override { epoch_ = epoch; }
  at::Tensor loss(const DeviceBatch& batch) override;
  // The mean is over the objects.
  at::Tensor loss_weight(const DeviceBatch& batch) override {
    double num_objects = 0;
    for (const Objects& sample : objects_of(batch, queue_length(own())))
      num_objects += static_cast<double>(sample.labels.size(0));
    return at::full({}, num_objects / batch.size, at::kDouble);
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return network_->forward(frames_of(batch, queue_length(own()), is_bgr())).boxes;
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<DetectionEvaluation>(*network_, val_->keyframes, val_share_, is_bgr());
  }

 private:
  const BevFormerOptions& own() const { return bevformer(options()); }
  bool is_bgr() const { return bevformer_pictures(own()).is_bgr; }
  nuscenes::Windows windows(int64_t epoch);

  const BevFormerConfig config_;
  std::optional<nuscenes::Split> train_, val_;
  std::optional<ImageSize> picture_size_;    // of train_, for the sources of all epochs
  std::optional<nuscenes::KeptBoxes> kept_;  // of train_
  std::vector<int64_t> val_share_;           // keyframes of val_ of this process
  int64_t epoch_ = 0;
  std::shared_ptr<BevFormerNetwork> network_;
  std::vector<std::string> weight_notes_;
  std::unique_ptr<ModuleModel> model_;
};

// The windows that `epoch` trains on. The frames before a keyframe are those of its scene, whether
// they have objects or not.
nuscenes::Windows BevFormerTask::windows(int64_t epoch) {
  const Dataset& keyframes = train_->keyframes;
  const nuscenes::Windows all =
      nuscenes::draw_windows(keyframes, queue_length(own()) - 1, options().seed, epoch);
  if (own().empty_frames && !own().class_balanced) return all;
  if (!kept_) kept_ = nuscenes::read_kept_boxes(keyframes, trained_objects());
  const std::vector<int64_t> chosen =
      own().class_balanced ? nuscenes::class_balanced(*kept_, options().seed, epoch).keyframes
                           : nuscenes::keyframes_with_boxes(*kept_);
  if (chosen.empty()) {
    throw dataset_error(
        keyframes.path(), ErrorCode::invalid_argument,
        "no keyframe has an object of the ten classes in the range of the BEV; convert "
        "a data set with annotations");
  }
  return all.select(chosen);
}

std::unique_ptr<BatchSource> BevFormerTask::training_batches(int64_t epoch) {
  nuscenes::Windows drawn = windows(epoch);
  if (drawn.num_windows() < options().global_batch_size) {
    throw dataset_error(train_->keyframes.path(), ErrorCode::invalid_argument,
                        "the split has {} keyframes to train on, but one training step needs {} "
                        "keyframes; give a smaller {}",
                        drawn.num_windows(), options().global_batch_size,
                        option_name("batch_size"));
  }
  LoaderOptions loader = keyframe_loader_options(options(), setting().place, setting().device,
                                                 *train_, *picture_size_, true);
  loader.sampler.order = Order::shuffle;
  loader.sampler.tail = Tail::drop;
  return std::make_unique<WindowSource>(std::move(drawn), std::move(loader), fingerprint(),
                                        options().limit_batches * options().accumulate,
                                        setting().device);
}

std::vector<std::string> BevFormerTask::notes() const {
  if (!kept_) return {};
  const auto with_objects = std::ssize(nuscenes::keyframes_with_boxes(*kept_));
  std::vector<std::string> out = {fmt::format("{} of {} keyframes have objects to train on",
                                              with_commas(with_objects),
                                              with_commas(std::ssize(kept_->num_boxes)))};
  if (!own().class_balanced) return out;
  const nuscenes::ClassBalance balance = nuscenes::class_balanced(*kept_, options().seed, 0);
  out.push_back(
      fmt::format("class-balanced: {} keyframes in an epoch; with each class, before and after",
                  with_commas(std::ssize(balance.keyframes))));
  for (size_t i = 0; i < nuscenes::kClasses.size(); ++i) {
    out.push_back(fmt::format("  {:<20} {:>8} {:>8}", nuscenes::kClasses[i],
                              with_commas(balance.num_before[i]),
                              with_commas(balance.num_after[i])));
  }
  return out;
}

std::unique_ptr<BatchSource> BevFormerTask::validation_batches() {
  val_ = open_keyframes(options(), own().val_split);
  // Said before a training begins; an evaluation may write results without a metric.
  if (train_ && !nuscenes::has_annotations(val_->keyframes)) {
    throw dataset_error(val_->keyframes.path(), ErrorCode::invalid_argument,
                        "has no annotations for a validation, like the test split; give another {}",
                        option_name("val_split"));
  }
  val_share_ = share_of_scenes(val_->keyframes, setting().place.rank, setting().place.world_size);
  if (val_share_.empty()) return std::make_unique<RepeatedBatch>(DeviceBatch{}, 0);
  // A process streams whole scenes, one keyframe after the other.
  LoaderOptions loader =
      keyframe_loader_options(options(), setting().place, setting().device, *val_,
                              network_picture_size(val_->keyframes, own()), false);
  loader.batch_size = 1;
  loader.sampler.rank = 0;
  loader.sampler.world_size = 1;
  loader.sampler.tail = Tail::exact;
  return std::make_unique<LoaderSource>(val_->keyframes.subset(val_share_), std::move(loader),
                                        options().limit_batches, setting().device);
}

DeviceBatch BevFormerTask::noise() {
  // Pictures of nuScenes' size; micro is for small ones.
  const bool is_small = own().arch == "micro";
  const ImageSize size = scaled_picture_size(is_small ? 320 : 1600, is_small ? 180 : 900, own());
  DeviceBatch batch = noise_windows(options().batch_size, queue_length(own()), size.height,
                                    size.width, kNoiseObjects, options().seed);
  for (DeviceField& field : batch.fields) {
    const bool is_for_cpu = field.name == "motion" || field.name == "has_previous";
    if (!is_for_cpu) field.values = field.values.to(setting().device);
  }
  return batch;
}

at::Tensor BevFormerTask::loss(const DeviceBatch& batch) {
  std::vector<BevFrame> frames = frames_of(batch, queue_length(own()), is_bgr());
  if (own().grid_mask > 0) {
    std::vector<int64_t> keyframes = batch.record_indices;
    if (keyframes.empty()) {  // of noise
      keyframes.resize(batch.size);
      std::iota(keyframes.begin(), keyframes.end(), 0);
    }
    frames.back().images =
        cover_with_grids(frames.back().images, own().grid_mask, options().seed, epoch_, keyframes);
  }
  const BevDetections found = network_->forward(frames);
  DetectionLossOptions loss_options;
  loss_options.code_weights = config_.code_weights;
  const std::vector<LayerLoss> losses =
      detection_losses(found.logits.to(at::kFloat), found.boxes.to(at::kFloat),
                       objects_of(batch, queue_length(own())), loss_options, batch.size);
  at::Tensor sum;
  for (const LayerLoss& layer : losses) {
    const at::Tensor both = layer.classes + layer.boxes;
    sum = sum.defined() ? sum + both : both;
  }
  return sum;
}

}  // namespace

void register_bevformer_task(TaskRegistry& registry) {
  registry.add(
      {.name = "bevformer",
       .summary = "objects in three dimensions from six cameras, on nuScenes' keyframes",
       .samples = "keyframes",
       .units = "keyframes",
       .metrics = detection_metrics(),
       .best = "nds",
       .results = "detections in the format of nuScenes' detection task, .json",
       .result_endings = {".json"},
       .misfit = bevformer_misfit,
       .make =
           [](TaskSetting setting) { return std::make_unique<BevFormerTask>(std::move(setting)); },
       .make_options = [] { return std::make_unique<BevFormerOptions>(); }});
}

}  // namespace ffkit
