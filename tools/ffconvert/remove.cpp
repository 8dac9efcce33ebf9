// ffconvert remove: records taken out of a data set.

#include <memory>
#include <string>

#include <ffkit/converter/remove.h>

#include "options.h"
#include "tools/common/programs.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

struct RemoveArguments {
  RemoveArguments() { describe(options, table); }

  RemoveOptions options;
  OptionTable table;  // over `options`
  std::string data;
  bool quiet = false;
};

void run_remove(const RemoveArguments& arguments) {
  RemoveOptions options = arguments.options;
  options.cancel = stop_flag();
  if (!arguments.quiet) options.note = say_note;
  const RemoveSummary summary = remove_records(arguments.data, options);
  for (const std::string& id : summary.not_found) {
    say("ffconvert: note: no record has the id '{}'\n", id);
  }
  if (arguments.quiet) return;
  for (const SplitSummary& split : summary.splits) {
    say("{}, fingerprint {}\n", split_line(split, "records", "shard"), split.fingerprint);
  }
  say("{} {} removed\n", summary.num_removed,
      summary.num_removed == 1 ? "record was" : "records were");
}

}  // namespace

void add_remove_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "remove", "Removes records from a data set, and their bytes from its files");
  command.footer(
      "Shards with these records are written again, and the manifest is replaced in one step. "
      "Record numbers and the\nfingerprint change, so older lists of record numbers no longer "
      "fit.\nExample: ffconvert remove /fast/faces --ids withdrawn.txt");
  const auto arguments = std::make_shared<RemoveArguments>();
  add_place(command, "DATA", arguments->data, "Data set folder to change");
  add_options_file(command);
  WhenParsed none;
  for (Option& option : arguments->table.options()) add_table_option(command, option, none, false);
  command.get_option("--ids")->required();
  command.option_defaults()->configurable(false);
  command.add_flag("--quiet", arguments->quiet, "Prints only errors");
  command.callback([&chosen, arguments] { chosen = [arguments] { run_remove(*arguments); }; });
}

}  // namespace ffkit
