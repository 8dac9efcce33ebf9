#include "commands.h"

#include <cstdint>
#include <limits>

#include "data/data_sets.h"

namespace ffkit {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      Target& target, const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, help);
  command
      ->add_option("DATA,--data", target.path,
                   "Data set folder, or the folder of one of its splits")
      ->required()
      ->option_text(" ");
  command->add_option("--split", target.split, "Only this split")->option_text("NAME");
  command->add_flag("--json", target.json, "Print JSON instead of text");
  command
      ->add_option("--max-record", target.reader.max_record_bytes,
                   "Largest record that is read; a damaged file cannot claim more memory than this")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->option_text("SIZE=256M");
  command->footer(footer);
  return command;
}

void add_choice_options(CLI::App& command, Target& target) {
  command
      .add_option("--where", target.where,
                  "Only the records whose columns fulfil this condition, such as \"label in {1, "
                  "5..9} and id "
                  "!= 'x'\"; also == < <= > >= and 'not in'")
      ->option_text("CONDITION");
  command
      .add_option("--indices", target.indices,
                  "Only the records whose numbers are in this text file, in the order of the file")
      ->option_text("FILE");
}

}  // namespace ffkit
