#include "tools/common/storage_arguments.h"

#include <ffkit/storage/storage_options.h>

#include "storage/addresses/place.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

constexpr const char* kOptions = "--storage";
constexpr const char* kSourceOptions = "--source-storage";

StorageOptions parse_options(const std::vector<std::string>& texts, const char* option) {
  StorageOptions options;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    // Without the text, which may be a secret.
    if (equals == std::string::npos) throw CLI::ValidationError(option, "expected KEY=VALUE");
    options.values.insert_or_assign(text.substr(0, equals), text.substr(equals + 1));
  }
  return options;
}

void add_option(CLI::App& command, const char* name, std::vector<std::string>& values,
                const char* help) {
  let_repeat(command.add_option(name, values, help))->option_text("KEY=VALUE")->configurable(false);
}

}  // namespace

void add_storage_arguments(CLI::App& app, StorageArguments& arguments) {
  const std::vector<CLI::App*> commands = app.get_subcommands({});
  for (CLI::App* command : commands) add_storage_arguments(*command, arguments);
  if (!commands.empty()) return;
  const bool has_both =
      app.get_option_no_throw("SRC") != nullptr && app.get_option_no_throw("DST") != nullptr;
  add_option(app, kOptions, arguments.options,
             has_both ? "Option for the store of DST, or for the store of SRC if DST is a folder. "
                        "Examples are profile=NAME and endpoint_url=URL. This option may be given "
                        "several times. docs/storage.md explains the keys"
                      : "Option for the store, such as profile=NAME or endpoint_url=URL. This "
                        "option may be given several times. docs/storage.md explains the keys");
  if (!has_both) return;
  add_option(app, kSourceOptions, arguments.source_options,
             "Option for the store of SRC. This option may be given several times");
}

void give_storage_options(CLI::App& app, const StorageArguments& arguments) {
  if (arguments.options.empty() && arguments.source_options.empty()) return;
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  CLI::Option* destination = command->get_option_no_throw("DST");
  if (destination == nullptr) {
    std::vector<std::string> places;
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional() && !option->check_lname("data")) continue;
      places.insert(places.end(), option->results().begin(), option->results().end());
    }
    const bool is_given = give_storage_options(places, arguments.options) ||
                          !storage_options_of("s3://any").values.empty();
    if (!is_given) throw CLI::ValidationError(kOptions, "no place is in a store; leave it out");
    return;
  }
  const CLI::Option* source = command->get_option_no_throw("SRC");
  const std::string from = source == nullptr || source->empty() ? "" : source->results().front();
  const std::string to = destination->results().front();
  const auto [of_source, of_destination] =
      share_storage_options(from, to, parse_options(arguments.options, kOptions),
                            parse_options(arguments.source_options, kSourceOptions));
  if (!of_source.values.empty()) set_storage_options(from, of_source);
  if (Place(to).is_on_disk()) return;
  const std::string marked = with_storage_options(to, of_destination).native();
  destination->clear();
  destination->add_result(marked);
  destination->run_callback();
}

bool give_storage_options(const std::vector<std::string>& places,
                          const std::vector<std::string>& options) {
  for (const std::string& text : places) {
    if (Place(text).is_on_disk()) continue;
    set_storage_options(text, parse_options(options, kOptions));
    return true;
  }
  return false;
}

std::vector<std::string> without_values(std::vector<std::string> words) {
  std::string before;
  for (std::string& word : words) {
    const bool is_one = word.starts_with("--storage=") || word.starts_with("--source-storage=");
    const bool is_value = before == kOptions || before == kSourceOptions;
    before = word;
    const size_t equals = word.find('=', is_one ? word.find('=') + 1 : 0);
    if ((is_one || is_value) && equals != std::string::npos)
      word.replace(equals + 1, std::string::npos, "...");
  }
  return words;
}

}  // namespace ffkit
