// ffconvert copy: a finished data set from one place to another. ffconvert transcode: with its
// pictures in the dct code, or back to JPEG, without its source.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include <ffkit/converter/copy.h>
#include <ffkit/converter/progress_bar.h>
#include <ffkit/sources/transcode.h>

#include "base/printable.h"
#include "options.h"
#include "tools/common/programs.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

struct CopyArguments {
  CopyOptions options;
  std::string source;
  std::string destination;
  bool quiet = false;
};

void run_copy(const CopyArguments& arguments) {
  CopyOptions options = arguments.options;
  options.cancel = stop_flag();
  options.command = finishing_command(true);
  ProgressBar bar(STDERR_FILENO);
  if (!arguments.quiet) show_on(bar, options);
  const CopySummary summary = copy_dataset(arguments.source, arguments.destination, options);
  bar.wipe();
  if (arguments.quiet) return;
  const double seconds = std::max(summary.seconds, 1e-3);
  say("{}: {} records in {}, {}\n", fmt::join(summary.splits, ", "),
      with_commas(summary.num_records), counted(summary.num_shards, "shard"),
      in_megabytes(summary.file_bytes));
  if (summary.num_equal_shards > 0) {
    say("{} of the shards {} in DST already\n", with_commas(summary.num_equal_shards),
        summary.num_equal_shards == 1 ? "was" : "were");
  }
  say("{} copied in {:.1f} s, {:.0f} MB/s; every shard was compared with its checksums\n",
      in_megabytes(summary.num_copied_bytes), seconds,
      static_cast<double>(summary.num_copied_bytes) / 1e6 / seconds);
}

}  // namespace

void add_copy_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "copy", "Copies a finished data set, or a split of it, between folders and stores");
  command.footer(
      "Each shard is compared with its checksums while it is copied. The manifests come last. DST "
      "has the marker of an\nunfinished data set until the copy is complete. Shards that are "
      "in DST already are not copied again.\nExamples:\n  ffconvert copy /fast/imagenet "
      "s3://bucket/imagenet\n  ffconvert copy hf://datasets/owner/name/imagenet /fast/imagenet "
      "--split val");
  const auto arguments = std::make_shared<CopyArguments>();
  add_place(command, "SRC", arguments->source,
            "Folder or address of a data set, or of one of its splits");
  add_place(command, "DST", arguments->destination,
            "Destination, a folder or an address with s3://, gs:// or az://");
  add_options_file(command);
  command
      .add_option("--split", arguments->options.splits,
                  "Copies only this split. This option may be given several times")
      ->option_text("NAME");
  command
      .add_option("-j,--num-threads", arguments->options.num_threads,
                  "Number of shards to copy at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 64))
      ->option_text("N [" + std::to_string(arguments->options.num_threads) + "]");
  command.add_flag("--resume", arguments->options.resume,
                   "Continues an interrupted copy, or starts a new copy if there is none");
  command.add_flag("--quiet", arguments->quiet, "Prints only errors");
  command.callback([&chosen, arguments] { chosen = [arguments] { run_copy(*arguments); }; });
}

void add_transcode_command(CLI::App& app, Action& chosen) {
  struct Call : ConvertArguments {
    TranscodeConversion conversion;
    std::string source;
  };
  CLI::App& command = *app.add_subcommand(
      "transcode", "Transcodes the pictures of a data set into the dct code, or back to JPEG");
  command.footer(
      "Only the pictures change. Other fields, the order and the classes stay the same. Shards "
      "have the same records as before.\nA picture without a dct code, such as a progressive JPEG, "
      "stays as it is. DST/report.jsonl lists such pictures.\nExamples:\n  ffconvert transcode "
      "/fast/imagenet /fast/imagenet-dct --store dct\n  ffconvert transcode /fast/imagenet-dct "
      "/fast/imagenet-jpeg --store jpeg");
  const auto call = std::make_shared<Call>();
  add_folders(command, &call->source,
              "Folder or address of an ffkit data set, or of one of its splits", *call);
  add_options(command, call->conversion.table(), *call, [&chosen, call] {
    call->conversion.check();
    chosen = [call] {
      run_conversion(*call, call->conversion.options(),
                     [&] { return call->conversion.open(call->source); });
    };
  });
  command.get_option("--store")->required();
}

}  // namespace ffkit
