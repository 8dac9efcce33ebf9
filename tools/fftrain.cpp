// fftrain: trains an image classifier on a data set folder. All the work is in trainer/; here are the options.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>

#include <CLI/CLI.hpp>

#include <ffkit/trainer/process_memory.h>
#include <ffkit/trainer/trainer.h>

#include "command_line.h"

namespace {

using ffkit::TrainOptions;

constexpr char kFooter[] =
    "Examples:\n"
    "  fftrain --data /fast/imagenet --work-dir runs/a --arch resnet50\n"
    "  fftrain --resume runs/a\n"
    "  fftrain --evaluate runs/a --data /fast/other\n"
    "  fftrain --data /fast/flowers --arch resnet50 --pretrained resnet50.pth --work-dir runs/b\n"
    "  fftrain --evaluate resnet50.pth --arch resnet50 --data /fast/imagenet\n"
    "  fftrain --export resnet50.pth --from runs/a";

struct Command {
  TrainOptions options;
  std::filesystem::path resume;
  std::filesystem::path evaluate;
  std::filesystem::path export_to;
  std::filesystem::path export_from;
};

void add_data_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--data", o.data, "Data set folder with the splits train and val");
  app.add_option("--image-size", o.image_size, "Side of the pictures the model sees, in pixels");
  app.add_option_function<std::pair<double, double>>(
         "--crop-scale",
         [&o](const std::pair<double, double>& scale) {
           std::tie(o.crop_scale_min, o.crop_scale_max) = scale;
         },
         "Share of a picture's area that a training crop takes")
      ->type_name("MIN MAX")
      ->default_str(fmt::format("{} {}", o.crop_scale_min, o.crop_scale_max));
  app.add_option("--eval-resize", o.eval_resize,
                 "Short side before the central crop in validation; 0: image size * 256 / 224");
  app.add_option("--batch-size", o.batch_size, "Pictures a step");
  app.add_option("--threads", o.threads, "Decoding threads; 0: one for every 16 cores");
  app.add_option("--limit-batches", o.limit_batches,
                 "Batches an epoch, in training and in validation, for a quick try; 0: all");
}

void add_optimisation_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--epochs", o.epochs, "Epochs of the whole run");
  app.add_option("--lr", o.lr, "Highest learning rate");
  app.add_option_function<std::string>(
         "--lr-schedule",
         [&o](const std::string& name) { o.lr_schedule = ffkit::parse_lr_schedule(name); },
         "After the warm-up: cosine to zero, or steps")
      ->check(CLI::IsMember({"cosine", "step"}))
      ->default_str(std::string(to_string(o.lr_schedule)));
  app.add_option("--warmup-epochs", o.warmup_epochs, "Epochs of linear rise to --lr");
  app.add_option("--lr-step-epochs", o.lr_step_epochs, "Epochs between two steps");
  app.add_option("--lr-gamma", o.lr_gamma, "Factor of one step");
  app.add_option("--momentum", o.momentum, "Momentum of SGD");
  app.add_flag("--nesterov,!--no-nesterov", o.nesterov, "Nesterov's momentum");
  app.add_option("--weight-decay", o.weight_decay, "Weight decay of all parameters");
  app.add_option("--label-smoothing", o.label_smoothing, "Label smoothing in training");
}

void add_run_options(CLI::App& app, Command& command) {
  TrainOptions& o = command.options;
  app.add_option("--arch", o.arch, "Model, by torchvision's name")
      ->check(CLI::IsMember(ffkit::arch_names()));
  CLI::Option* pretrained =
      app.add_option("--pretrained", o.pretrained,
                     "Weights to start from: .pth, .safetensors or a checkpoint; a head of other "
                     "classes is drawn anew");
  app.add_option("--seed", o.seed, "Initial weights, order of the pictures, crops and flips")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--channels-last,!--no-channels-last", o.channels_last,
               "Memory format of pictures and convolutions (default: on)");
  app.add_option("--compute-threads", o.compute_threads, "Threads of the model; 0: all cores");
  app.add_option("--work-dir", o.work_dir,
                 "Folder for checkpoints and log.jsonl; without it nothing is kept");
  app.add_option("--keep-checkpoints", o.keep_checkpoints,
                 "Newest checkpoints to keep beside the best one; 0: all");
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
  // These have weights already.
  for (CLI::Option* option : {resume, evaluate, export_to}) pretrained->excludes(option);
}

int run(CLI::App& app, int argc, char** argv, Command& command) {
  if (!command.export_to.empty()) {
    ffkit::export_weights(command.export_from, command.export_to);
    return 0;
  }
  const std::filesystem::path checkpoint =
      command.resume.empty() ? command.evaluate : command.resume;
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
  return ffkit::run_tool(app, argc, argv, [&] { return run(app, argc, argv, command); });
}
