// ffconvert: turns a source of pictures into a data set folder. The work is in the converter.
#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/converter/registry.h>
#include <ffkit/format/error.h>
#include <ffkit/format/version.h>

#include "commands.h"
#include "image_options.h"
#include "options.h"
#include "tools/command_line.h"
#include "tools/stop_signals.h"

namespace {

void add_parameter(CLI::App& command, const ffkit::SourceParameter& parameter,
                   ffkit::SourceArguments& arguments) {
  const std::string option = fmt::format("--{}", parameter.name);
  switch (parameter.type) {
    case ffkit::SourceParameter::Type::number:
      // Only numbers that are given are kept, so that a kind can tell them from defaults.
      command
          .add_option_function<int64_t>(
              option,
              [&arguments, name = parameter.name](int64_t number) {
                arguments.numbers[name] = number;
              },
              parameter.help)
          ->default_str(std::to_string(parameter.default_value))
          ->check(CLI::Range(parameter.min_value, parameter.max_value));
      break;
    case ffkit::SourceParameter::Type::flag:
      command.add_flag(option, arguments.flags[parameter.name], parameter.help);
      break;
    case ffkit::SourceParameter::Type::text:
      command
          .add_option_function<std::string>(
              option,
              [&arguments, name = parameter.name](const std::string& text) {
                arguments.texts[name] = text;
              },
              parameter.help)
          ->option_text("TEXT");
      break;
  }
}

// For records that refer to each other by number.
void keep_order(const CLI::App& command, const ffkit::SourceKind& kind,
                ffkit::ConvertArguments& arguments) {
  const auto refuse = [&](const char* reason) {
    throw CLI::ValidationError(command.get_name(), reason);
  };
  ffkit::ConvertOptions& options = arguments.options;
  if (command.count("--order") > 0 && options.order == ffkit::RecordOrder::shuffled) {
    refuse(
        "--order shuffled: its records refer to each other by number; training shuffles them when "
        "it reads");
  }
  if (options.on_error != ffkit::OnError::fail) {
    refuse(kind.keeps_order
               ? "--on-error: its records refer to each other by number, so none can be left out; "
                 "see --allow-partial"
               : "--on-error: its records refer to each other by number, so none can be left out");
  }
  options.order = ffkit::RecordOrder::source;
}

// One command for each kind of source. Parsing the command line sets `chosen`.
void add_source_command(CLI::App& app, const ffkit::SourceKind& kind, ffkit::Action& chosen) {
  struct Arguments : ffkit::ConvertArguments {
    ffkit::SourceArguments source;
  };
  CLI::App& command = *app.add_subcommand(kind.name, kind.description);
  const auto arguments = std::make_shared<Arguments>();
  command.footer(fmt::format("Example: ffconvert {} {}", kind.name, kind.example));
  if (kind.needs_path) {
    command
        .add_option("SRC", arguments->source.path,
                    "Data set to convert: a folder, or a file where the source is one")
        ->required()
        ->option_text(" ");
  }
  command.add_option("DST", arguments->destination, "Data set folder to make; new or empty")
      ->required()
      ->option_text(" ");
  for (const ffkit::SourceParameter& parameter : kind.parameters) {
    add_parameter(command, parameter, arguments->source);
  }
  if (kind.has_images) add_image_options(command, arguments->source.images);
  if (kind.takes_store) add_store_option(command, arguments->source.images.store);
  if (kind.takes_exif) add_exif_option(command, arguments->source.images.exif);
  add_convert_options(command, *arguments);
  if (kind.keeps_order) {
    // Not offered; still parsed, since keep_order() says why they are refused.
    for (const char* option : {"--order", "--on-error"}) command.get_option(option)->group("");
  }
  command.callback([&command, &kind, &chosen, arguments] {
    validate_options(command, *arguments);
    if (kind.has_images) validate_image_options(command, arguments->source.images);
    if (kind.keeps_order) keep_order(command, kind, *arguments);
    try {
      ffkit::check_arguments(kind, arguments->source);
    } catch (const ffkit::Error& error) {
      throw CLI::ValidationError(command.get_name(), error.text(ffkit::OptionStyle::command_line));
    }
    if (kind.keeps_order_with != nullptr && kind.keeps_order_with(arguments->source)) {
      keep_order(command, kind, *arguments);
    }
    chosen = [&kind, arguments] {
      arguments->source.seed = arguments->options.seed;
      arguments->source.num_threads = arguments->options.num_threads;
      arguments->source.is_dry_run = arguments->dry_run;
      arguments->source.temporary_folder = arguments->destination;
      arguments->source.cancel = ffkit::stop_flag();
      arguments->source.images.seed = arguments->options.seed;
      run_conversion(*arguments, [&] { return kind.open(arguments->source); });
    };
  });
}

int run_command_line(int argc, char** argv) {
  ffkit::remember_command(argc, argv);
  CLI::App app(
      "Converts data sets into ffkit's format: shards of records that training reads fast.");
  app.name("ffconvert");
  app.set_version_flag("--version", "ffconvert " FFKIT_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "'ffconvert SUBCOMMAND --help' lists the options of a subcommand.\n"
      "Exit status: 0: done; 1: failed; 2: wrong use; 130: stopped by Ctrl-C or another signal.");
  ffkit::Action chosen;
  std::string names;
  std::string examples = "\nExamples:";
  for (const ffkit::SourceKind& kind : ffkit::source_kinds()) {
    add_source_command(app, kind, chosen);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
    examples += fmt::format("\n  ffconvert {} {}", kind.name, kind.example);
  }
  ffkit::add_v1_command(app, chosen);
  ffkit::add_transcode_command(app, chosen);
  ffkit::add_merge_commands(app, chosen);
  names += ", v1, transcode, merge, append";
  app.footer(app.get_footer() + examples);
  // CLI11's own words, "A subcommand is required", do not say which there are. Set after the
  // subcommands, which would inherit it.
  app.allow_extras();
  app.callback([&app, &names] {
    if (app.get_subcommands().empty()) {
      throw CLI::ValidationError("COMMAND", "the first argument must be one of " + names);
    }
    if (app.remaining_size() > 0) throw CLI::ExtrasError("ffconvert", app.remaining());
  });
  return ffkit::run_tool(app, argc, argv, [&chosen] {
    ffkit::catch_stop_signals();
    // Too large a file is to be an error of write(2), with a message, not the end of the process.
    std::signal(SIGXFSZ, SIG_IGN);
    chosen();
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) {
  return ffkit::run_main("ffconvert", [&] { return run_command_line(argc, argv); });
}
