// ffconvert transcode: a data set with its pictures in the dct code, or back to JPEG, without its
// source.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "commands.h"
#include "image_options.h"
#include "options.h"

namespace ffkit {
namespace {

struct TranscodeArguments : ConvertArguments {
  std::string source;
  StoreAs store = StoreAs::jpeg;
};

void run_transcode(const CLI::App& command, TranscodeArguments& arguments) {
  ConvertOptions& options = arguments.options;
  run_conversion(arguments, [&] {
    std::vector<Dataset> splits =
        open_splits(arguments.source, {.max_record_bytes = options.max_record_bytes});
    if (command.count("--zstd") == 0) take_over_compression(splits, options);
    return open_transcoded(std::move(splits), {.store = arguments.store,
                                               .keeps_shards = command.count("--shard-size") == 0});
  });
}

}  // namespace

void add_transcode_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "transcode", "A data set of ffkit with its pictures in the dct code, or back to JPEG");
  command.footer(
      "All but the pictures stays as it is: other fields, order, classes, facts. Shards have the "
      "same records as before.\n"
      "A picture without a dct code, such as a progressive JPEG, stays as it is; DST/report.jsonl "
      "names it.\n"
      "Examples:\n"
      "  ffconvert transcode /fast/imagenet /fast/imagenet-dct --store dct\n"
      "  ffconvert transcode /fast/imagenet-dct /fast/imagenet-jpeg --store jpeg");
  const auto arguments = std::make_shared<TranscodeArguments>();
  arguments->options.order = RecordOrder::source;
  command.add_option("SRC", arguments->source, "Data set folder of ffkit, or one of its splits")
      ->required()
      ->option_text(" ");
  command.add_option("DST", arguments->destination, "Data set folder to make; new or empty")
      ->required()
      ->option_text(" ");
  add_store_option(command, arguments->store);
  command.get_option("--store")->required();
  add_convert_options(command, *arguments);
  command.get_option("--shard-size")->option_text("SIZE; default: the shards of SRC");
  command.get_option("--zstd")->option_text("LEVEL; default: as SRC");
  // Not offered; still parsed, to say why they are refused.
  for (const char* option : {"--order", "--seed", "--read"}) command.get_option(option)->group("");
  command.callback([&command, &chosen, arguments] {
    for (const char* option : {"--order", "--seed", "--read"}) {
      if (command.count(option) == 0) continue;
      throw CLI::ValidationError(
          command.get_name(),
          std::string(option) + " has no effect: the records keep the order of SRC; leave it out");
    }
    validate_options(command, *arguments);
    chosen = [&command, arguments] { run_transcode(command, *arguments); };
  });
}

}  // namespace ffkit
