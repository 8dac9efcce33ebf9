// fftrain: trains an image classifier on a data set folder. All the work is in trainer/; here are the options.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/trainer/process_memory.h>
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
    "  fftrain --evaluate runs/a --data /fast/other";

struct Command {
  TrainOptions options;
  std::filesystem::path resume;
  std::filesystem::path evaluate;
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
  app.add_option("--batch-size", o.batch_size, "Pictures a step");
  app.add_option("--threads", o.threads, "Decoding threads; 0: one for every 16 cores");
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
  app.add_option_function<std::string>(
         "--arch", [&o](const std::string& name) { o.arch = ffkit::parse_arch(name); }, "Model")
      ->check(CLI::IsMember({"resnet18", "resnet34", "resnet50"}))
      ->default_str(std::string(to_string(o.arch)));
  app.add_option("--seed", o.seed, "Initial weights, order of the pictures, crops and flips")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--channels-last,!--no-channels-last", o.channels_last,
               "Memory format of pictures and convolutions (default: on)");
  app.add_option("--compute-threads", o.compute_threads, "Threads of the model; 0: all cores");
  app.add_option("--work-dir", o.work_dir,
                 "Folder for checkpoints and metrics; without it nothing is kept");
  app.add_option("--keep-checkpoints", o.keep_checkpoints,
                 "Newest checkpoints to keep beside the best one; 0: all");
  app.add_option("--log-every", o.log_every, "Steps between two lines of metrics.jsonl");
  CLI::Option* resume =
      app.add_option("--resume", command.resume,
                     "Go on from a checkpoint, or from the newest one in a work folder");
  app.add_option("--evaluate", command.evaluate,
                 "Only validate a checkpoint, or the newest one in a work folder")
      ->excludes(resume)
      ->configurable(false);
  resume->configurable(false);
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
  const std::filesystem::path checkpoint =
      command.resume.empty() ? command.evaluate : command.resume;
  if (!checkpoint.empty()) {
    // What the command line says goes over what the checkpoint says.
    command.options = ffkit::read_checkpoint_options(checkpoint);
    app.parse(argc, argv);
  }
  if (command.options.data.empty()) throw CLI::RequiredError("--data");

  ffkit::ProgressOutput output;
  if (isatty(STDERR_FILENO) != 0) output.live = stderr;
  if (!command.evaluate.empty()) {
    ffkit::evaluate(command.options, command.evaluate, output);
  } else if (!command.resume.empty()) {
    ffkit::resume_training(command.options, command.resume, output);
  } else {
    ffkit::train(command.options, output);
  }
  return 0;
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
  add_run_options(app, command);
  app.set_config("--config", "", "Take options from a TOML file; the command line goes over it")
      ->type_name("FILE")
      ->configurable(false);
  app.config_formatter(std::make_shared<OptionsFileReader>(app));
  return ffkit::run_tool(app, argc, argv, [&] { return run(app, argc, argv, command); });
}
