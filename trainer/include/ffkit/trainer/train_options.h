// TrainOptions: everything that defines a training run. A plain value; the defaults are the usual
// ImageNet recipe for ResNet-50.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ffkit {

enum class Arch { resnet18, resnet34, resnet50 };
std::string_view to_string(Arch arch);
// Inverse of to_string; throws Error(invalid_argument) that lists the names there are.
Arch parse_arch(std::string_view name);

enum class LrSchedule {
  cosine,  // half a cosine from lr to 0 over the epochs after the warm-up
  step,    // lr times lr_gamma after every lr_step_epochs epochs
};
std::string_view to_string(LrSchedule schedule);
LrSchedule parse_lr_schedule(std::string_view name);

enum class OptimizerKind {
  sgd,    // with momentum
  adamw,  // Adam with decoupled weight decay
  lars,  // SGD with a rate of its own for each layer, for large batches; leaves biases and norms out of the weight decay
};
std::string_view to_string(OptimizerKind kind);
OptimizerKind parse_optimizer(std::string_view name);

struct TrainOptions {
  std::filesystem::path data;  // data set folder with the splits "train" and "val"
  std::filesystem::path
      work_dir;  // checkpoints and log.jsonl; made when missing. Empty: nothing is written

  Arch arch = Arch::resnet50;
  int64_t image_size = 224;      // side of the pictures the model sees, pixels, >= 1
  double crop_scale_min = 0.08;  // share of the area a training crop takes: 0 < min <= max <= 1
  double crop_scale_max = 1.0;
  int64_t eval_resize =
      0;  // short side before the central crop in validation; 0: image_size * 256 / 224
  int64_t epochs = 90;       // >= 1
  int64_t batch_size = 256;  // pictures a step and process, >= 1
  double lr = 0.1;           // highest learning rate, > 0
  LrSchedule lr_schedule = LrSchedule::cosine;
  int64_t warmup_epochs = 0;    // linear rise to lr, 0 <= warmup_epochs <= epochs
  int64_t lr_step_epochs = 30;  // LrSchedule::step only, >= 1
  double lr_gamma = 0.1;        // LrSchedule::step only, 0 < lr_gamma <= 1
  OptimizerKind optimizer = OptimizerKind::sgd;
  double momentum = 0.9;       // sgd and lars, 0 <= momentum < 1
  bool nesterov = false;       // sgd only; needs momentum > 0
  double adam_beta1 = 0.9;     // adamw only: decay of the mean of gradients, 0 <= beta1 < 1
  double adam_beta2 = 0.999;   // adamw only: decay of the mean of their squares, 0 <= beta2 < 1
  double adam_eps = 1e-8;      // adamw only, > 0
  double lars_trust = 0.001;   // lars only: rate of a layer / (its norm / its gradient's norm), > 0
  double weight_decay = 1e-4;  // >= 0
  bool norm_decay = true;      // weight decay also of one-dimensional parameters: biases and norms
  double label_smoothing =
      0.0;            // in training, 0 <= label_smoothing < 1; validation reports the plain loss
  uint64_t seed = 0;  // initial weights, order of the pictures, crops and flips
  bool channels_last = true;  // memory format of pictures and convolutions
  int threads = 0;            // decoding threads of the loader; 0: one for every 16 cores
  int compute_threads = 0;    // threads of libtorch's kernels; 0: all cores this process may use
  int64_t limit_batches =
      0;  // steps an epoch, in training and in validation, for a quick try; 0: all
  int64_t keep_checkpoints = 3;  // newest ones kept beside the best one; 0: all

  // eval_resize, with its default put in.
  int64_t resolved_eval_resize() const;
};

// Throws Error(invalid_argument) naming the first option that is out of range.
void validate(const TrainOptions& options);

}  // namespace ffkit
