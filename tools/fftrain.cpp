// fftrain: trains an image classifier on a data set folder. All the work is in trainer/; here are the options.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/measure.h>
#include <ffkit/trainer/process_memory.h>
#include <ffkit/trainer/stop.h>
#include <ffkit/trainer/trainer.h>

#include "command_line.h"

namespace {

using ffkit::TrainOptions;

constexpr char kFooter[] =
    "Examples:\n"
    "  fftrain --data /fast/imagenet --work-dir runs/a --arch resnet50\n"
    "  fftrain --data /fast/imagenet --work-dir runs/b --config "
    "trainer/recipes/resnet50-90-epochs.toml\n"
    "  fftrain --resume runs/a\n"
    "  fftrain --nproc 8 --data /fast/imagenet --work-dir runs/b --auto-resume --amp bf16\n"
    "  torchrun --nproc-per-node 8 --no-python fftrain --data /fast/imagenet --work-dir runs/b "
    "--auto-resume\n"
    "  srun fftrain --data /fast/imagenet --work-dir runs/b --auto-resume\n"
    "  fftrain --evaluate runs/a --data /fast/other\n"
    "  fftrain --data /fast/flowers --arch resnet50 --pretrained resnet50.pth --work-dir runs/b\n"
    "  fftrain --evaluate resnet50.pth --arch resnet50 --data /fast/imagenet\n"
    "  fftrain --export resnet50.pth --from runs/a\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong use, 75 stopped by SIGTERM or SIGUSR1 with a "
    "checkpoint written (start it again with\n"
    "--auto-resume to go on), 130 stopped by Ctrl-C, likewise.";

// EX_TEMPFAIL: what a batch script looks for to put the job into the queue again.
constexpr int kExitStopped = 75;

struct Command {
  TrainOptions options;
  std::filesystem::path resume;
  std::filesystem::path evaluate;
  std::filesystem::path export_to;
  std::filesystem::path export_from;
  bool auto_resume = false;
  std::string benchmark;  // forward or step; empty: none
  bool loader_only = false;
  bool bottleneck = false;
  std::filesystem::path profile;
  ffkit::LaunchOptions launch;
};

// An option whose values are the names of an enum.
template <typename Enum>
void add_choice(CLI::App& app, const std::string& name, Enum& value,
                Enum (*parse)(std::string_view), const std::vector<std::string>& names,
                const std::string& help) {
  app.add_option_function<std::string>(
         name, [&value, parse](const std::string& text) { value = parse(text); }, help)
      ->check(CLI::IsMember(names))
      ->default_str(std::string(to_string(value)));
}

void add_augmentation_options(CLI::App& app, TrainOptions& o) {
  add_choice(app, "--auto-augment", o.auto_augment, ffkit::parse_auto_augment,
             {"none", "randaugment", "trivialaugment"}, "Policy of random changes of the pictures");
  app.add_option("--randaugment-ops", o.randaugment_ops, "RandAugment: operations a picture");
  app.add_option("--randaugment-magnitude", o.randaugment_magnitude,
                 "RandAugment: strength of the operations, 0 to 30");
  app.add_option_function<std::array<double, 4>>(
         "--color-jitter",
         [&o](const std::array<double, 4>& jitter) {
           std::tie(o.jitter_brightness, o.jitter_contrast, o.jitter_saturation, o.jitter_hue) =
               std::tuple_cat(jitter);
         },
         "Random changes of the colours, at most by these shares")
      ->type_name("BRIGHTNESS CONTRAST SATURATION HUE")
      ->default_str(fmt::format("{} {} {} {}", o.jitter_brightness, o.jitter_contrast,
                                o.jitter_saturation, o.jitter_hue));
  app.add_option("--random-erasing", o.random_erasing,
                 "Probability that a rectangle of a picture is blanked");
  app.add_option("--mixup-alpha", o.mixup_alpha, "MixUp's alpha; 0: none");
  app.add_option("--cutmix-alpha", o.cutmix_alpha,
                 "CutMix's alpha; 0: none. With MixUp too, each batch takes one of them");
}

void add_data_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--data", o.data, "Data set folder with the splits train and val");
  app.add_option("--image-size", o.image_size, "Side of the pictures in training, in pixels");
  app.add_option("--progressive-size", o.progressive_size,
                 "Progressive resizing: begin with pictures of this side; 0: none");
  app.add_option_function<std::pair<int64_t, int64_t>>(
         "--progressive-epochs",
         [&o](const std::pair<int64_t, int64_t>& epochs) {
           std::tie(o.progressive_from, o.progressive_to) = epochs;
         },
         "They grow after epoch FROM, by steps of 32 pixels, to --image-size in epoch TO (counted "
         "from 0)")
      ->type_name("FROM TO")
      ->default_str(fmt::format("{} {}", o.progressive_from, o.progressive_to));
  app.add_option_function<std::pair<double, double>>(
         "--crop-scale",
         [&o](const std::pair<double, double>& scale) {
           std::tie(o.crop_scale_min, o.crop_scale_max) = scale;
         },
         "Share of a picture's area that a training crop takes")
      ->type_name("MIN MAX")
      ->default_str(fmt::format("{} {}", o.crop_scale_min, o.crop_scale_max));
  app.add_option("--eval-size", o.eval_size,
                 "Side of the central crop in validation; 0: the image size");
  app.add_option("--eval-resize", o.eval_resize,
                 "Short side before that crop; 0: its side * 256 / 224");
  add_choice(app, "--interpolation", o.interpolation, ffkit::parse_interpolation,
             {"bilinear", "bicubic"}, "Filter of all resizing");
  add_augmentation_options(app, o);
  app.add_option("--batch-size", o.batch_size, "Pictures that a process works on at a time");
  app.add_option("--global-batch-size", o.global_batch_size,
                 "Pictures a step over all processes, instead of --batch-size; 0: what "
                 "--batch-size makes of it");
  app.add_option("--accumulate", o.accumulate,
                 "Batches a step and process, whose gradients add up");
  app.add_flag("--dummy", o.dummy,
               "Train on a batch of noise instead of --data: what the model alone can do");
  app.add_option("--threads", o.threads,
                 "Decoding threads; 0: all cores with a GPU, one for every 16 without");
  app.add_option("--prefetch", o.prefetch, "Batches that are prepared ahead");
  app.add_option("--limit-batches", o.limit_batches,
                 "Batches an epoch, in training and in validation, for a quick try; 0: all");
}

void add_optimisation_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--epochs", o.epochs, "Epochs of the whole run");
  app.add_option("--lr", o.lr, "Highest learning rate");
  add_choice(app, "--lr-schedule", o.lr_schedule, ffkit::parse_lr_schedule,
             {"cosine", "step", "polynomial", "onecycle", "constant"},
             "Course of the learning rate after the warm-up");
  app.add_option("--lr-min", o.lr_min, "Where cosine and polynomial end");
  app.add_option("--warmup-epochs", o.warmup_epochs,
                 "Epochs, or parts of them, of linear rise to --lr");
  app.add_option("--warmup-start", o.warmup_start, "Where it begins, as a share of --lr");
  app.add_option("--lr-step-epochs", o.lr_step_epochs, "Schedule step: epochs between two steps");
  app.add_option("--lr-gamma", o.lr_gamma, "Schedule step: factor of one step");
  app.add_option("--lr-power", o.lr_power, "Schedule polynomial: its power; 1: a straight line");
  add_choice(app, "--optimizer", o.optimizer, ffkit::parse_optimizer, {"sgd", "adamw", "lars"},
             "SGD with momentum, AdamW, or LARS for large batches");
  app.add_option("--momentum", o.momentum, "Momentum of SGD and LARS");
  app.add_flag("--nesterov,!--no-nesterov", o.nesterov, "Nesterov's momentum");
  app.add_option_function<std::pair<double, double>>(
         "--adam-betas",
         [&o](const std::pair<double, double>& betas) {
           std::tie(o.adam_beta1, o.adam_beta2) = betas;
         },
         "AdamW's decays of the means of gradients and of their squares")
      ->type_name("BETA1 BETA2")
      ->default_str(fmt::format("{} {}", o.adam_beta1, o.adam_beta2));
  app.add_option("--adam-eps", o.adam_eps, "AdamW's epsilon");
  app.add_option("--lars-trust", o.lars_trust, "LARS's trust coefficient");
  app.add_option("--weight-decay", o.weight_decay, "Weight decay");
  app.add_flag("--norm-decay,!--no-norm-decay", o.norm_decay,
               "Weight decay also of biases and of the weights of norms (default: on)");
  app.add_option("--clip-grad-norm", o.clip_grad_norm,
                 "Largest norm of all gradients together; 0: any");
  app.add_option("--label-smoothing", o.label_smoothing, "Label smoothing in training");
  app.add_option("--ema-decay", o.ema_decay,
                 "Decay of a moving average of the weights, which is validated instead of them; 0: "
                 "none");
  app.add_option("--ema-steps", o.ema_steps, "Steps between two updates of that average");
  app.add_flag("--zero-init-residual,!--no-zero-init-residual", o.zero_init_residual,
               "Start the last norm of each residual block at 0");
}

void add_run_options(CLI::App& app, Command& command) {
  TrainOptions& o = command.options;
  app.add_option("--arch", o.arch, "Model, by torchvision's name")
      ->check(CLI::IsMember(ffkit::arch_names()));
  app.add_option("--pretrained", o.pretrained,
                 "Weights to start from: .pth, .safetensors or a checkpoint; a head of other "
                 "classes is drawn anew");
  app.add_option("--seed", o.seed, "Initial weights, order of the pictures, crops and flips")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--channels-last,!--no-channels-last", o.channels_last,
               "Memory format of pictures and convolutions (default: on)");
  app.add_flag("--deterministic,!--no-deterministic", o.deterministic,
               "The same bits in every run also on a GPU, at some cost; a CPU's always are");
  app.add_option("--compute-threads", o.compute_threads, "Threads of the model; 0: all cores");
  app.add_option("--work-dir", o.work_dir,
                 "Folder for checkpoints and metrics; without it nothing is kept");
  app.add_option("--keep-checkpoints", o.keep_checkpoints,
                 "Newest checkpoints to keep beside the best one; 0: all");
  app.add_option("--log-every", o.log_every, "Steps between two lines of metrics.jsonl");
  CLI::Option* resume =
      app.add_option("--resume", command.resume,
                     "Go on from a checkpoint, or from the newest one in a work folder");
  CLI::Option* evaluate =
      app.add_option("--evaluate", command.evaluate,
                     "Only validate a checkpoint, the newest one in a work folder, or weights "
                     "(.pth, .safetensors), which need --arch")
          ->excludes(resume);
  CLI::Option* export_to =
      app.add_option("--export", command.export_to,
                     "Only write the weights of --from as a .safetensors or .pth file for Python")
          ->excludes(resume)
          ->excludes(evaluate);
  CLI::Option* export_from =
      app.add_option("--from", command.export_from,
                     "What --export takes: a checkpoint, the newest one in a work folder, or "
                     "weights")
          ->needs(export_to);
  export_to->needs(export_from);
  for (CLI::Option* option : {resume, evaluate, export_to, export_from}) {
    option->configurable(false);
  }
}

void add_precision_options(CLI::App& app, TrainOptions& o) {
  app.add_option_function<std::string>(
         "--amp", [&o](const std::string& name) { o.amp = ffkit::parse_amp(name); },
         "Precision of the forward pass: off (O0), bf16, fp16 (O1, O2)")
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
         "Factor of the loss with --amp fp16: a number, or dynamic")
      ->default_str(o.loss_scale == 0 ? "dynamic" : fmt::format("{}", o.loss_scale));
}

void add_distributed_options(CLI::App& app, Command& command) {
  TrainOptions& o = command.options;
  ffkit::LaunchOptions& l = command.launch;
  app.add_option_function<std::string>(
         "--launcher", [&l](const std::string& name) { l.launcher = ffkit::parse_launcher(name); },
         "What started the processes: auto, none, torchrun, slurm, mpi, node")
      ->default_str("auto");
  app.add_option("--nproc", l.num_processes,
                 "Processes to start on this machine; 0: one for each GPU")
      ->check(CLI::Range(0, 4096));
  app.add_flag("--bind-numa,!--no-bind-numa", l.bind_numa,
               "Bind each process to the NUMA node of its device (default: on)");
  app.add_option("--device", o.device, "auto, cpu, cuda or cuda:N");
  app.add_option("--dist-backend", l.backend, "gloo or nccl; by default what fits the device")
      ->check(CLI::IsMember({"gloo", "nccl"}));
  app.add_option("--dist-init-method", l.init_method,
                 "Where processes meet: tcp://HOST:PORT, file:///PATH, or env");
  app.add_option("--dist-timeout", l.timeout_seconds, "Seconds that processes wait for each other")
      ->check(CLI::PositiveNumber);
  app.add_flag("--sync-bn,!--no-sync-bn", o.sync_bn,
               "Batch norm over the batches of all processes");
  app.add_flag("--broadcast-buffers,!--no-broadcast-buffers", o.broadcast_buffers,
               "Running statistics of rank 0 for all before each step");
  app.add_option_function<std::string>(
         "--lr-scaling",
         [&o](const std::string& name) { o.lr_scaling = ffkit::parse_lr_scaling(name); },
         "--lr is for --lr-base-batch pictures a step, and scaled: none, linear, sqrt")
      ->default_str(std::string(to_string(o.lr_scaling)));
  app.add_option("--lr-base-batch", o.lr_base_batch,
                 "Pictures a step that --lr is for, with --lr-scaling");
  app.add_flag("--auto-resume", command.auto_resume,
               "Go on from the newest checkpoint in --work-dir, or begin when there is none");
  app.add_option("--checkpoint-minutes", o.checkpoint_minutes,
                 "Also a checkpoint every so many minutes within an epoch; 0: none");
}

void add_measuring_options(CLI::App& app, Command& command) {
  CLI::Option* benchmark = app.add_option("--benchmark", command.benchmark,
                                          "Only measure the model on one batch of noise: forward, "
                                          "or step (forward, backward, update; the default)")
                               ->expected(0, 1)
                               ->default_str("step")
                               ->check(CLI::IsMember({"forward", "step"}))
                               ->type_name("MODE");
  CLI::Option* loader =
      app.add_flag("--loader-only", command.loader_only, "Only measure the loader, without a model")
          ->excludes(benchmark);
  app.add_flag("--bottleneck", command.bottleneck,
               "Only measure loader, model and both, and say which is the limit")
      ->excludes(benchmark)
      ->excludes(loader);
  app.add_option("--prof", command.profile,
                 "Folder for a Chrome trace and a table of operators of the steps 6 to 10");
}

// True when it was asked for a measurement instead of a training.
bool measure(const Command& command, const ffkit::ProgressOutput& output,
             const ffkit::ProcessPlace& place) {
  const TrainOptions& o = command.options;
  if (command.bottleneck) {
    ffkit::measure_bottleneck(o, output, place);
  } else if (command.loader_only) {
    ffkit::measure_loader(o, output, place);
  } else if (!command.benchmark.empty()) {
    const auto mode =
        command.benchmark == "step" ? ffkit::BenchmarkMode::step : ffkit::BenchmarkMode::forward;
    ffkit::measure_model(o, mode, output, place);
  } else {
    return false;
  }
  return true;
}

// Starts the processes of this machine when that is this one's part.
std::optional<int> launch(int argc, char** argv, const Command& command,
                          ffkit::ProcessPlace& place) {
  const ffkit::LaunchPlan plan = ffkit::plan_launch(command.launch);
  place = plan.place;
  if (plan.num_processes > 0) {
    return ffkit::run_local_processes(plan, command.launch,
                                      std::vector<std::string>(argv, argv + argc));
  }
  if (command.launch.bind_numa) ffkit::bind_to_numa_node(place);
  return std::nullopt;
}
// Reads --config, and refuses what is no option of fftrain.
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

int run(CLI::App& app, int argc, char** argv, Command& command) {
  if (!command.export_to.empty()) {
    ffkit::export_weights(command.export_from, command.export_to);
    return 0;
  }
  const std::filesystem::path checkpoint =
      command.resume.empty() ? command.evaluate : command.resume;
  if (!checkpoint.empty() && !command.options.pretrained.empty()) {
    throw CLI::ExcludesError("--pretrained", command.resume.empty() ? "--evaluate" : "--resume");
  }
  const bool has_options =
      !checkpoint.empty() && (command.evaluate.empty() || !ffkit::is_weights_file(checkpoint));
  if (!command.evaluate.empty() && !has_options && app.count("--arch") == 0) {
    throw CLI::RequiredError("--arch (" + command.evaluate.string() + " holds weights alone)");
  }
  if (has_options) {
    // What the command line says goes over what the checkpoint says.
    command.options = ffkit::read_checkpoint_options(checkpoint);
    app.parse(argc, argv);
  }
  if (command.options.data.empty() && !command.options.dummy && command.benchmark.empty())
    throw CLI::RequiredError("--data");

  ffkit::ProcessPlace place;
  if (const std::optional<int> status = launch(argc, argv, command, place)) return *status;
  ffkit::stop_on_signals();
  ffkit::ProgressOutput output;
  if (isatty(STDERR_FILENO) != 0) output.live = stderr;
  output.profile = command.profile;
  if (measure(command, output, place)) return 0;
  if (!command.evaluate.empty()) {
    ffkit::evaluate(command.options, command.evaluate, output, place);
    return 0;
  }
  const ffkit::TrainSummary summary =
      command.auto_resume ? ffkit::train_or_resume(command.options, output, place)
      : !command.resume.empty()
          ? ffkit::resume_training(command.options, command.resume, output, place)
          : ffkit::train(command.options, output, place);
  if (!summary.is_stopped) return 0;
  return ffkit::stop_signal() == SIGINT ? 128 + SIGINT : kExitStopped;
}

}  // namespace

int main(int argc, char** argv) {
  ffkit::keep_freed_memory();
  Command command;
  CLI::App app(
      "Trains an image classifier on a data set folder. With --resume and --evaluate the options "
      "of "
      "the checkpoint's run are the defaults.",
      "fftrain");
  // The last of several wins, so that scripts can pass their caller's options on.
  app.option_defaults()->always_capture_default()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", "fftrain " FFKIT_VERSION);
  app.footer(kFooter);
  add_data_options(app, command.options);
  add_optimisation_options(app, command.options);
  add_precision_options(app, command.options);
  add_run_options(app, command);
  add_distributed_options(app, command);
  add_measuring_options(app, command);
  app.set_config("--config", "", "Take options from a TOML file; the command line goes over it")
      ->type_name("FILE")
      ->configurable(false);
  app.config_formatter(std::make_shared<OptionsFileReader>(app));
  return ffkit::run_tool(app, argc, argv, [&] { return run(app, argc, argv, command); });
}
