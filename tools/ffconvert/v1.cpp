// ffconvert v1: FFRecord v1 to a data set folder, and back.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/progress_bar.h>
#include <ffkit/converter/sources.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/error.h>

#include "commands.h"
#include "options.h"
#include "tools/stop_signals.h"

namespace ffkit {
namespace {

struct V1Arguments : ConvertArguments {
  std::string source;
  std::string payload = "auto";
  std::string field;
};

bool is_given(const CLI::App& command, const std::string& option) {
  return command.get_option(option)->count() > 0;
}

[[noreturn]] void refuse_option(const CLI::App& command, const std::string& option,
                                const std::string& reason) {
  throw CLI::ValidationError(command.get_name(), option + " " + reason);
}

void read_v1(const CLI::App& command, V1Arguments& arguments, std::vector<Dataset> splits) {
  if (is_given(command, "--field")) {
    refuse_option(command, "--field", "is for writing FFRecord v1; SRC already is");
  }
  const bool is_imagenet = splits.front().schema().index_of("label") >= 0;
  const V1Content content = parse_v1_content(arguments.payload);
  if (content != V1Content::automatic && (content == V1Content::imagenet) != is_imagenet) {
    refuse_option(command, "--payload",
                  fmt::format("{}: the records of SRC are {}", arguments.payload,
                              is_imagenet ? "ImageNet's, and are read as images and labels"
                                          : "no pickles of image and label"));
  }
  run_conversion(arguments, [&] { return open_datasets(std::move(splits)); });
}

void write_as_v1(const CLI::App& command, V1Arguments& arguments,
                 const std::vector<Dataset>& splits) {
  for (const char* option : {"--threads", "--order", "--seed", "--on-error", "--zstd",
                             "--zstd-dictionary", "--part", "--read", "--resume"}) {
    if (is_given(command, option)) {
      refuse_option(command, option, "is for reading FFRecord v1; SRC is a data set of ffkit");
    }
  }
  V1Options options{.content = parse_v1_content(arguments.payload),
                    .field = arguments.field,
                    .max_record_bytes = arguments.options.max_record_bytes,
                    .cancel = stop_flag(),
                    .command = finishing_command(false)};
  if (is_given(command, "--shard-size")) options.shard_bytes = arguments.options.shard_bytes;
  ProgressBar bar(STDERR_FILENO);
  if (!arguments.quiet) {
    options.progress = [&bar](const ConvertProgress& progress) { bar.update(progress); };
    options.note = [&bar](const std::string& sentence) {
      bar.wipe();
      say("ffconvert: note: {}\n", sentence);
    };
  }
  if (arguments.dry_run) {
    return print_estimate(estimate_v1(splits, options), "records", "part");
  }
  const ConvertSummary summary = write_v1(splits, arguments.destination, options);
  bar.wipe();
  if (arguments.quiet) return;
  for (const SplitSummary& split : summary.splits) {
    say("{}: {} records in {} {}, {:.1f} MB\n", split.split, split.num_records, split.num_shards,
        split.num_shards == 1 ? "part" : "parts", static_cast<double>(split.file_bytes) / 1e6);
  }
  say("{} records in {:.1f} s, {:.0f} MB/s\n", summary.num_records(), summary.seconds,
      static_cast<double>(summary.file_bytes()) / 1e6 / summary.seconds);
}

void run_v1(const CLI::App& command, V1Arguments& arguments) {
  check_destination(arguments.destination, arguments.options.resume);
  std::vector<Dataset> splits =
      open_splits(arguments.source, {.max_record_bytes = arguments.options.max_record_bytes});
  const auto version = [](const Dataset& split) { return split.format_version(); };
  if (std::ranges::all_of(splits, [&](const Dataset& split) { return version(split) == 1; })) {
    read_v1(command, arguments, std::move(splits));
  } else if (std::ranges::none_of(splits, [&](const Dataset& s) { return version(s) == 1; })) {
    write_as_v1(command, arguments, splits);
  } else {
    throw Error(ErrorCode::invalid_argument,
                "holds splits of FFRecord v1 and of ffkit's own format; give one of them",
                {.path = arguments.source});
  }
}

}  // namespace

void add_v1_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand("v1", "FFRecord v1 to a data set of ffkit, or back");
  command.footer(
      "The direction depends on what SRC is.\n"
      "Examples:\n"
      "  ffconvert v1 /data/imagenet-v1 /fast/imagenet    # train.ffr/PART_*.ffr, val.ffr/..., "
      "meta.pkl\n"
      "  ffconvert v1 /fast/imagenet /data/imagenet-v1");
  const auto arguments = std::make_shared<V1Arguments>();
  arguments->options.order = RecordOrder::source;
  command
      .add_option(
          "SRC", arguments->source,
          "FFRecord v1 (a file, a folder of parts, a data set), or a data set folder of ffkit")
      ->required()
      ->option_text(" ");
  command.add_option("DST", arguments->destination, "Data set folder to make; new or empty")
      ->required()
      ->option_text(" ");
  command
      .add_option("--payload", arguments->payload,
                  "Content of a v1 record. imagenet: a pickle of image and label; raw: the bytes "
                  "of one field; "
                  "auto: imagenet where possible")
      ->check(CLI::IsMember({"auto", "raw", "imagenet"}))
      ->option_text("auto|raw|imagenet");
  command
      .add_option("--field", arguments->field,
                  "Writing v1: the field whose bytes are written; default: the first of type image "
                  "or bytes")
      ->option_text("NAME");
  add_convert_options(command, *arguments);
  command.get_option("--order")->option_text("shuffled|source, default source");
  command.get_option("--shard-size")
      ->option_text("SIZE=256M; writing v1: default one part for each shard");
  command.callback([&command, &chosen, arguments] {
    validate_options(command, *arguments);
    chosen = [&command, arguments] { run_v1(command, *arguments); };
  });
}

}  // namespace ffkit
