#include "commands.h"

#include "data_sets.h"

namespace ffkit {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      Target& target, const std::string& footer) {
  CLI::App* command = app.add_subcommand(name, help);
  command
      ->add_option("DST", target.path, "Folder that ffconvert wrote, or one split's folder in it")
      ->required();
  command->add_option("--split", target.split, "Only this split");
  command->add_flag("--json", target.json, "Print JSON");
  command->footer(footer);
  return command;
}

void add_choice_options(CLI::App& command, Target& target) {
  command.add_option(
      "--where", target.where,
      "Only records for which this holds of their columns: \"label in {1, 5..9} and id "
      "!= 'x'\"; also == != < <= > >= and 'not in'");
  command
      .add_option("--indices", target.indices,
                  "Only the records whose numbers this text file lists, in its order")
      ->option_text("FILE");
}

}  // namespace ffkit
