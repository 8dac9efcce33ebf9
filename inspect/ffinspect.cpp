// ffinspect: what is in a data set, and is it whole. Data on stdout, errors on stderr; exit status
// 0, 1 (failed, damaged) or 2 (wrong use).
#include <tbb/task_arena.h>

#include <cstdint>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/machine.h>
#include <ffkit/base/version.h>

#include "commands.h"
#include "data/data_sets.h"
#include "storage/addresses/place.h"
#include "text/output.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

constexpr const char* kMainFooter =
    R"(Every subcommand takes --json. 'ffinspect SUBCOMMAND --help' describes the JSON.

Examples:
  ffinspect info /data/imagenet
  ffinspect ls /data/imagenet --split val --limit 5
  ffinspect cat /data/imagenet 17 --split val
  ffinspect cat /data/imagenet 17 --split val --field image --output picture.jpg
  ffinspect stats /data/imagenet --split train
  ffinspect view /data/imagenet --split train --count 24 --output sheet.png
  ffinspect view /data/nuscenes --split val --record 17 --output scene.png
  ffinspect export /data/imagenet pictures
  ffinspect plot runs/a --output plot.png
  ffinspect verify /data/imagenet)";

int run(int argc, char** argv) {
  CLI::App app("Shows ffkit data sets and training runs.", "ffinspect");
  app.footer(built_examples(kMainFooter, "subcommand"));
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffinspect " FFKIT_VERSION);
  Action action;
  add_all_commands(app, action);
  add_left_out_commands(app, "subcommand");
  return run_tool(app, argc, argv, [&] {
    // TBB's own count knows the cores that the process is bound to, but no quota.
    const int status = tbb::task_arena(usable_cores()).execute(action);
    require_written_stdout();
    return status;
  });
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      Target& target, const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, help);
  command
      ->add_option("DATA,--data", target.path,
                   "Data set folder, or the folder of one of its splits")
      ->transform([](const std::string& text) { return Place(text).path().string(); })
      ->required()
      ->option_text(" ");
  command->add_option("--split", target.split, "Uses only this split")->option_text("NAME");
  command->add_flag("--json", target.json, "Prints JSON instead of text");
  command
      ->add_option("--max-record", target.reader.max_record_bytes,
                   "Limit for the size of a record. A larger record is an error, so that a damaged "
                   "file cannot use more memory")
      ->transform(size_in_bytes())
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->option_text("SIZE=256M");
  command->footer(footer);
  return command;
}

void add_choice_options(CLI::App& command, Target& target) {
  command
      .add_option("--where", target.where,
                  "Uses only records with columns that fulfil this condition, such as \"label in "
                  "{1, 5..9} and id != 'x'\". The other operators are == < <= > >= and 'not in'")
      ->option_text("CONDITION");
  command
      .add_option(
          "--indices", target.indices,
          "Uses only the records with the numbers in this text file, in the order of the file")
      ->option_text("FILE");
}

void add_picture_output(CLI::App& command, std::string& output) {
  command
      .add_option("-o,--output", output,
                  "PNG file to write instead of standard output. This option is necessary if "
                  "standard output is a terminal")
      ->option_text("FILE");
}

void require_picture_output(const std::string& output, bool json) {
  if (output.empty() && json) {
    throw CLI::ValidationError("--json", "give the file for the picture with --output");
  }
  if (output.empty() && stdout_is_terminal()) {
    throw CLI::ValidationError("--output", "the picture is not text; give --output FILE.png");
  }
}

Json record_document(const Dataset& dataset, int64_t number, const RecordView& record,
                     Json fields) {
  Json json = {
      {"split", dataset.manifest().split}, {"record", number}, {"fields", std::move(fields)}};
  if (const auto label = label_of(dataset.schema(), record); label) {
    json["class"] = class_of(dataset.manifest(), *label);
    json["class_name"] = class_name_of(dataset.manifest(), *label);
  }
  return json;
}

}  // namespace ffkit

int ffkit::run_ffinspect(int argc, char** argv) {
  return run_main("ffinspect", [&] { return ffkit::run(argc, argv); });
}
