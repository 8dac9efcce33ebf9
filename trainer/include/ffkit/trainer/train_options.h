// TrainOptions: everything that defines a training run. A plain value; the defaults are the usual
// ImageNet recipe for ResNet-50.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

// The models there are, by torchvision's names.
std::vector<std::string> arch_names();

enum class LrSchedule {
  cosine,  // half a cosine from lr to 0 over the epochs after the warm-up
  step,    // lr times lr_gamma after every lr_step_epochs epochs
};
std::string_view to_string(LrSchedule schedule);
LrSchedule parse_lr_schedule(std::string_view name);

struct TrainOptions {
  std::filesystem::path data;  // data set folder with the splits "train" and "val"
  std::filesystem::path
      work_dir;  // checkpoints and log.jsonl; made when missing. Empty: nothing is written

  std::string arch = "resnet50";  // one of arch_names()
  std::filesystem::path
      pretrained;  // weights that training starts from: .safetensors, .pth or a checkpoint; empty: drawn anew
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
  double momentum = 0.9;        // 0 <= momentum < 1
  bool nesterov = false;        // needs momentum > 0
  double weight_decay = 1e-4;   // of all parameters, >= 0
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
