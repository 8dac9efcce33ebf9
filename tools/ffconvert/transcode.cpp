// ffconvert transcode: a data set with its pictures in the dct code, or back to JPEG, without its
// source.
#include <memory>
#include <string>

#include <ffkit/sources/transcode.h>

#include "commands.h"
#include "options.h"

namespace ffkit {

void add_transcode_command(CLI::App& app, Action& chosen) {
  struct Call : ConvertArguments {
    TranscodeConversion conversion;
    std::string source;
  };
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
  const auto call = std::make_shared<Call>();
  add_folders(command, &call->source,
              "Data set folder of ffkit, or one of its splits; or its address", *call);
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
