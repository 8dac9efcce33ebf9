#include "options.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/max_record_option.h"

namespace ffkit {
namespace {

constexpr char kFooter[] =
    R"(Examples:
  fftrain --data /fast/imagenet --work-dir runs/a --arch resnet50
  fftrain --data /fast/imagenet --work-dir runs/b --config trainer/recipes/resnet50-90-epochs.toml
  fftrain --nproc 8 --data /fast/imagenet --work-dir runs/c --amp bf16 --resume
  torchrun --nproc-per-node 8 --no-python fftrain --data /fast/imagenet --work-dir runs/c --resume
  srun fftrain --data /fast/imagenet --work-dir runs/c --resume
  fftrain --resume-from runs/a --epochs 120
  fftrain --data /fast/flowers --arch resnet50 --pretrained resnet50.pth --work-dir runs/d
  fftrain --evaluate runs/a
  fftrain --evaluate resnet50.pth --arch resnet50 --data /fast/imagenet
  fftrain --export runs/a --output resnet50.pth

Exit status: 0: done; 1: failed; 2: wrong use; 75: stopped by SIGTERM, SIGUSR1 or SIGHUP; 130: stopped by Ctrl-C.
A training that is stopped writes a checkpoint first. The same command with --resume continues it. It writes none before its first step,
or after it has waited for data or for another process for 20 s. The checkpoint before is then the last one.)";

// An option whose values are the names of an enum.
template <typename Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& value,
                        Enum (*parse)(std::string_view), const std::vector<std::string>& names,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = parse(text); }, help)
      ->check(CLI::IsMember(names))
      ->default_str(std::string(to_string(value)));
}

// An option of two numbers.
template <typename Number>
CLI::Option* add_pair(CLI::App& app, const std::string& name, Number& first, Number& second,
                      const std::string& type_name, const std::string& help) {
  return app
      .add_option_function<std::pair<Number, Number>>(
          name,
          [&first, &second](const std::pair<Number, Number>& pair) {
            std::tie(first, second) = pair;
          },
          help)
      ->type_name(type_name)
      ->default_str(fmt::format("{} {}", first, second));
}

void add_data_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Data");
  app.add_option("--data", o.data, "Data set folder with the splits train and val")
      ->type_name("DATA");
  app.add_flag("--dummy", o.dummy,
               "Train on one batch of noise instead of --data, to measure the model alone");
  app.add_option("--image-size", o.image_size, "Width and height of training pictures, in pixels");
  app.add_option("--progressive-size", o.progressive_size,
                 "Progressive resizing: width and height of training pictures in the first epochs; "
                 "0: off");
  add_pair(app, "--progressive-epochs", o.progressive_from, o.progressive_to, "FROM TO",
           "Progressive resizing: pictures have --progressive-size up to epoch FROM, grow in steps "
           "of 32 pixels, and have --image-size from epoch TO on; epochs are counted from 0");
  add_pair(app, "--crop-scale", o.crop_scale_min, o.crop_scale_max, "MIN MAX",
           "RandomResizedCrop: share of a picture's area that a crop takes");
  app.add_option("--eval-size", o.eval_size,
                 "Validation: width and height of the central crop; 0: the same as --image-size");
  app.add_option("--eval-resize", o.eval_resize,
                 "Validation: the short side is resized to this before the crop; 0: the crop's "
                 "side * 256 / 224");
  add_choice(app, "--interpolation", o.interpolation, parse_interpolation, {"bilinear", "bicubic"},
             "Filter of all resizing");
  app.add_option("--threads", o.threads,
                 "Threads that read and decode; 0: all cores with a GPU, one for every 16 cores "
                 "without");
  app.add_option("--prefetch", o.prefetch, "Batches that are prepared ahead");
  add_max_record_option(
      app, o.max_record_bytes,
      "Largest record that is read; a damaged file cannot claim more memory than this");
  app.add_option("--limit-batches", o.limit_batches,
                 "For a quick try: at most this many batches in each training and validation "
                 "epoch; 0: all");
}

void add_augmentation_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Augmentation");
  add_choice(app, "--auto-augment", o.auto_augment, parse_auto_augment,
             {"none", "randaugment", "trivialaugment"}, "Automatic augmentation policy");
  app.add_option("--randaugment-ops", o.randaugment_ops,
                 "RandAugment: number of operations on each picture");
  app.add_option("--randaugment-magnitude", o.randaugment_magnitude,
                 "RandAugment: strength of the operations, 0 to 30");
  app.add_option_function<std::array<double, 4>>(
         "--color-jitter",
         [&o](const std::array<double, 4>& jitter) {
           std::tie(o.jitter_brightness, o.jitter_contrast, o.jitter_saturation, o.jitter_hue) =
               std::tuple_cat(jitter);
         },
         "ColorJitter: largest random change of each property, as a share")
      ->type_name("BRIGHTNESS CONTRAST SATURATION HUE")
      ->default_str(fmt::format("{} {} {} {}", o.jitter_brightness, o.jitter_contrast,
                                o.jitter_saturation, o.jitter_hue));
  app.add_option("--random-erasing", o.random_erasing,
                 "RandomErasing: probability that a rectangle of a picture is erased");
  app.add_option("--mixup-alpha", o.mixup_alpha, "MixUp: its alpha; 0: off");
  app.add_option("--cutmix-alpha", o.cutmix_alpha,
                 "CutMix: its alpha; 0: off. Where MixUp is on too, each batch takes one of them");
}

void add_batch_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Batches");
  app.add_option("--batch-size", o.batch_size, "Pictures in a batch, which one process computes");
  app.add_option("--accumulate", o.accumulate,
                 "Batches of each process in one step; their gradients are added up");
  app.add_option("--global-batch-size", o.global_batch_size,
                 "Pictures in one step of all processes; replaces --batch-size; 0: batch size * "
                 "accumulate * processes");
}

void add_schedule_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Learning rate");
  app.add_option("--epochs", o.epochs, "Epochs of the whole run");
  app.add_option("--lr", o.lr, "Learning rate: the highest of the schedule");
  add_choice(app, "--lr-schedule", o.lr_schedule, parse_lr_schedule,
             {"cosine", "step", "polynomial", "onecycle", "constant"},
             "Schedule of the learning rate after the warm-up");
  app.add_option("--lr-min", o.lr_min, "Schedules cosine and polynomial: learning rate at the end");
  app.add_option("--lr-step-epochs", o.lr_step_epochs, "Schedule step: epochs between two steps");
  app.add_option("--lr-gamma", o.lr_gamma, "Schedule step: factor of each step");
  app.add_option("--lr-power", o.lr_power, "Schedule polynomial: its power; 1: a straight line");
  app.add_option("--warmup-epochs", o.warmup_epochs,
                 "Warm-up: epochs in which the learning rate rises to --lr; may be a fraction");
  app.add_option("--warmup-start", o.warmup_start,
                 "Warm-up: first learning rate, as a share of --lr");
  app.add_option_function<std::string>(
         "--lr-scaling", [&o](const std::string& name) { o.lr_scaling = parse_lr_scaling(name); },
         "Scales --lr with the number of pictures in a step: none, linear, sqrt")
      ->default_str(std::string(to_string(o.lr_scaling)));
  app.add_option("--lr-base-batch", o.lr_base_batch,
                 "With --lr-scaling: the number of pictures in a step that --lr was chosen for");
}

void add_optimizer_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Optimizer");
  add_choice(app, "--optimizer", o.optimizer, parse_optimizer, {"sgd", "adamw", "lars"},
             "SGD with momentum, AdamW, or LARS for large batches");
  app.add_option("--momentum", o.momentum, "SGD and LARS: momentum");
  app.add_flag("--nesterov,!--no-nesterov", o.nesterov, "SGD: Nesterov's momentum");
  add_pair(app, "--adam-betas", o.adam_beta1, o.adam_beta2, "BETA1 BETA2",
           "AdamW: decay rates of the averages of the gradients and of their squares");
  app.add_option("--adam-eps", o.adam_eps, "AdamW: epsilon");
  app.add_option("--lars-trust", o.lars_trust, "LARS: trust coefficient");
  app.add_option("--weight-decay", o.weight_decay, "Weight decay");
  app.add_flag("--norm-decay,!--no-norm-decay", o.norm_decay,
               "Weight decay of biases and normalisation layers too (default: on)");
  app.add_option("--clip-grad-norm", o.clip_grad_norm,
                 "Clips the gradients to this total norm; 0: off");
  app.add_option("--label-smoothing", o.label_smoothing, "Label smoothing in training");
  app.add_option("--ema-decay", o.ema_decay,
                 "Keeps an exponential moving average of the weights with this decay, and "
                 "validates the average; 0: off");
  app.add_option("--ema-steps", o.ema_steps, "Steps between two updates of the average");
  app.add_option_function<std::string>(
         "--amp", [&o](const std::string& name) { o.amp = parse_amp(name); },
         "Mixed precision: off (O0), bf16, fp16 (O1, O2)")
      ->default_str(std::string(to_string(o.amp)));
  app.add_option_function<std::string>(
         "--loss-scale",
         [&o](const std::string& text) {
           if (text == "dynamic") {
             o.loss_scale = 0;
           } else if (!CLI::detail::lexical_cast(text, o.loss_scale)) {
             throw CLI::ValidationError("--loss-scale",
                                        "'" + text + "' is neither a number nor dynamic");
           }
         },
         "With --amp fp16: the factor of the loss, a number or dynamic")
      ->default_str(o.loss_scale == 0 ? "dynamic" : fmt::format("{}", o.loss_scale));
}

void add_model_options(CLI::App& app, TrainOptions& o) {
  app.option_defaults()->group("Model");
  app.add_option("--arch", o.arch, "Model; names are torchvision's")
      ->check(CLI::IsMember(arch_names()));
  app.add_option("--pretrained", o.pretrained,
                 "Start from these weights: .pth, .safetensors or a checkpoint. A head with "
                 "another number of classes is initialised anew")
      ->type_name("FILE");
  app.add_flag("--zero-init-residual,!--no-zero-init-residual", o.zero_init_residual,
               "Initialises the last norm of each residual block with 0");
  app.add_flag("--channels-last,!--no-channels-last", o.channels_last,
               "Memory format NHWC for pictures and convolutions (default: on)");
  app.add_option("--seed", o.seed,
                 "Determines initial weights, order of the pictures and augmentation")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--deterministic,!--no-deterministic", o.deterministic,
               "Gives the same bits in every run on a GPU too, at some cost; a CPU always does");
  app.add_option("--compute-threads", o.compute_threads,
                 "Threads that compute the model on a CPU; 0: all cores");
}

void add_run_options(CLI::App& app, TrainCommand& command) {
  TrainOptions& o = command.options;
  app.option_defaults()->group("Run");
  CLI::Option* work_dir =
      app.add_option("--work-dir", o.work_dir,
                     "Folder for checkpoints and metrics; without it nothing is kept")
          ->type_name("FOLDER");
  app.add_flag("--resume", command.resume,
               "Continues from the newest checkpoint in --work-dir; begins the run when there is "
               "none")
      ->needs(work_dir)
      ->configurable(false);
  app.add_option("--checkpoint-minutes", o.checkpoint_minutes,
                 "Minutes between checkpoints within an epoch; 0: only at the end of each epoch");
  app.add_option("--keep-checkpoints", o.keep_checkpoints,
                 "Number of checkpoints that are kept beside the best one; 0: all");
  app.add_option("--log-every", o.log_every, "Steps between two lines of metrics.jsonl");
  app.add_flag("--accept-batch-change", command.resume_options.accept_batch_change,
               "Continues with another number of pictures in a step; without it the checkpoint's "
               "number is kept, or the change is refused");
  app.add_flag("--quiet", command.quiet, "Print errors only")->configurable(false);
  app.set_config("--config", "", "Reads options from a TOML file; the command line overrides it")
      ->type_name("FILE")
      ->configurable(false)
      ->group("Run");
}

// What fftrain does instead of training from the beginning.
void add_other_actions(CLI::App& app, TrainCommand& command) {
  app.option_defaults()->group("Instead of a new run");
  CLI::Option* resume =
      app.add_option("--resume-from", command.resume_from,
                     "Continues the run of this checkpoint; its options are the defaults")
          ->excludes(app.get_option("--resume"));
  CLI::Option* evaluate =
      app.add_option("--evaluate", command.evaluate,
                     "Only validates this checkpoint; its options are the defaults. Weights "
                     "(.pth, .safetensors) need --arch and --data")
          ->excludes(resume);
  CLI::Option* export_from =
      app.add_option("--export", command.export_from,
                     "Only writes the weights of this checkpoint to --output, for Python")
          ->excludes(resume)
          ->excludes(evaluate);
  for (CLI::Option* option : {resume, evaluate, export_from}) {
    option->type_name("CHECKPOINT")->configurable(false);
  }
  CLI::Option* output = app.add_option("-o,--output", command.output,
                                       "With --export: the file to write, .pth or .safetensors")
                            ->type_name("FILE")
                            ->configurable(false)
                            ->needs(export_from);
  export_from->needs(output);
  CLI::Option* benchmark =
      app.add_option("--benchmark", command.benchmark,
                     "Only measures the model on one batch of noise: forward, or step (forward, "
                     "backward, update)")
          ->expected(0, 1)
          ->default_str("step")
          ->check(CLI::IsMember({"forward", "step"}))
          ->type_name("MODE");
  CLI::Option* loader = app.add_flag("--loader-only", command.loader_only,
                                     "Only measures the loader, without a model")
                            ->excludes(benchmark);
  app.add_flag("--bottleneck", command.bottleneck,
               "Only measures the loader, the model and both together, and says which is the limit")
      ->excludes(benchmark)
      ->excludes(loader);
  app.add_option("--prof", command.profile,
                 "Writes a Chrome trace and a table of operators of steps 6 to 10 to this folder")
      ->type_name("FOLDER");
}

void add_distributed_options(CLI::App& app, TrainCommand& command) {
  TrainOptions& o = command.options;
  LaunchOptions& l = command.launch;
  app.option_defaults()->group("Devices and processes");
  app.add_option("--device", o.device, "auto, cpu, cuda or cuda:N");
  app.add_option("--nproc", l.num_processes,
                 "Number of processes to start on this machine; 0: one for each GPU")
      ->check(CLI::Range(0, 4096));
  app.add_option_function<std::string>(
         "--launcher", [&l](const std::string& name) { l.launcher = parse_launcher(name); },
         "Program that started the processes: auto, none, torchrun, slurm, mpi, node")
      ->default_str("auto");
  app.add_flag("--bind-numa,!--no-bind-numa", l.bind_numa,
               "Binds each process to the NUMA node of its device (default: on)");
  app.add_option("--dist-backend", l.backend, "gloo or nccl; default: nccl on GPUs, else gloo")
      ->check(CLI::IsMember({"gloo", "nccl"}));
  app.add_option("--dist-init-method", l.init_method,
                 "Meeting point of the processes: tcp://HOST:PORT, file:///PATH, or env");
  app.add_option("--dist-timeout", l.timeout_seconds, "Seconds that processes wait for each other")
      ->check(CLI::PositiveNumber);
  app.add_flag("--sync-bn,!--no-sync-bn", o.sync_bn,
               "Batch norm computes its statistics over the batches of all processes");
  app.add_flag("--broadcast-buffers,!--no-broadcast-buffers", o.broadcast_buffers,
               "All processes take the running statistics of rank 0 before each step");
}

// Reads --config, and refuses keys that are not options of fftrain.
class OptionsFileReader : public CLI::ConfigBase {
 public:
  explicit OptionsFileReader(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> found = ConfigBase::from_config(input);
    for (const CLI::ConfigItem& item : found) {
      if (item.name == "++" || item.name == "--") continue;  // begin and end of a section
      const CLI::Option* option = app_.get_option_no_throw("--" + item.name);
      if (item.parents.empty() && option != nullptr && option->get_configurable()) continue;
      throw CLI::ConfigError(fmt::format("{}: '{}' is no option for a file",
                                         app_.get_config_ptr()->as<std::string>(),
                                         item.fullname()));
    }
    return found;
  }

 private:
  const CLI::App& app_;
};

}  // namespace

void add_train_options(CLI::App& app, TrainCommand& command) {
  // The last of several wins, so that scripts can pass their caller's options on.
  app.option_defaults()->always_capture_default()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  app.footer(kFooter);
  add_data_options(app, command.options);
  add_augmentation_options(app, command.options);
  add_batch_options(app, command.options);
  add_schedule_options(app, command.options);
  add_optimizer_options(app, command.options);
  add_model_options(app, command.options);
  add_run_options(app, command);
  add_other_actions(app, command);
  add_distributed_options(app, command);
  app.config_formatter(std::make_shared<OptionsFileReader>(app));
}

}  // namespace ffkit
