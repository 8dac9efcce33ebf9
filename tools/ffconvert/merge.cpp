// ffconvert merge, ffconvert append: data sets joined by their manifests.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/merge.h>
#include <ffkit/format/dataset.h>

#include "options.h"
#include "tools/common/programs.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

struct MergeArguments {
  MergeArguments() { describe(options, table); }

  MergeOptions options;
  OptionTable table;  // over `options`
  std::string destination;
  std::vector<std::filesystem::path> sources;
  bool move = false;
  bool copy = false;
  bool quiet = false;
};

using Join = ConvertSummary (*)(const std::filesystem::path&,
                                const std::vector<std::filesystem::path>&, const MergeOptions&);

void run_merge(const MergeArguments& arguments, Join join) {
  MergeOptions options = arguments.options;
  options.cancel = stop_flag();
  options.command = finishing_command(false);
  if (arguments.move) options.transfer = ShardTransfer::move;
  if (arguments.copy) options.transfer = ShardTransfer::copy;
  if (!arguments.quiet) {
    options.note = say_note;
  }
  const ConvertSummary summary = join(arguments.destination, arguments.sources, options);
  if (arguments.quiet) return;
  for (const SplitSummary& split : summary.splits) {
    say("{}, fingerprint {}\n", split_line(split, "records", "shard"), split.fingerprint);
  }
}

void add_command(CLI::App& app, Action& chosen, const std::string& name,
                 const std::string& description, const std::string& destination,
                 const std::string& sources_help, bool can_be_alone, Join join) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.footer(
      fmt::format("Splits of the same name are joined in the order of the sources. Records are not "
                  "changed.\nExample: ffconvert {} /fast/all /fast/monday /fast/tuesday",
                  name));
  const auto arguments = std::make_shared<MergeArguments>();
  add_place(command, "DST", arguments->destination, destination);
  CLI::Option* const sources =
      command.add_option("SRC", arguments->sources, sources_help)->option_text("...");
  add_options_file(command);
  WhenParsed none;
  for (Option& option : arguments->table.options()) add_table_option(command, option, none, false);
  command.option_defaults()->configurable(false);
  CLI::Option* const move =
      command.add_flag("--move", arguments->move, "The same as --transfer move")
          ->excludes(command.get_option("--transfer"));
  command.add_flag("--copy", arguments->copy, "The same as --transfer copy")
      ->excludes(move)
      ->excludes(command.get_option("--transfer"));
  command.add_flag("--quiet", arguments->quiet, "Prints only errors");
  command.callback([&chosen, arguments, join, sources, can_be_alone] {
    if (arguments->sources.empty() && !(can_be_alone && (!is_local(arguments->destination) ||
                                                         holds_parts(arguments->destination)))) {
      throw CLI::RequiredError(sources->get_name());
    }
    chosen = [arguments, join] { run_merge(*arguments, join); };
  });
}

}  // namespace

void add_merge_commands(CLI::App& app, Action& chosen) {
  add_command(app, chosen, "merge", "Joins several data sets into a new one, by hard links",
              "New or empty folder for the new data set. If all parts of a conversion have the "
              "same DST, give this folder or address",
              "Data set folders from which the shards are taken. Leave out SRC if DST has the "
              "parts of a conversion",
              /*can_be_alone=*/true, merge_datasets);
  add_command(app, chosen, "append", "Adds the shards of other data sets to an existing one",
              "Data set folder to add to", "Data set folders from which the shards are taken",
              /*can_be_alone=*/false, append_datasets);
}

}  // namespace ffkit
