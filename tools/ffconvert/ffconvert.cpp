// ffconvert: turns a source of pictures into a data set folder. The work is in the converter.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/base/version.h>
#include <ffkit/sources/registry.h>

#include "format/dataset/source_look.h"
#include "options.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace {

// One command for each kind of source. Parsing the command line sets `chosen`.
void add_source_command(CLI::App& app, const ffkit::SourceKind& kind, ffkit::Action& chosen) {
  struct Call : ffkit::ConvertArguments {
    explicit Call(const ffkit::SourceKind& kind) : conversion(kind) {}
    ffkit::KindConversion conversion;
    std::string source;
  };
  CLI::App& command = *app.add_subcommand(kind.name, kind.description);
  const auto call = std::make_shared<Call>(kind);
  command.footer(fmt::format("Example: ffconvert {} {}", kind.name, kind.example));
  add_folders(
      command, kind.needs_path ? &call->source : nullptr,
      "Folder or file of the data set to convert, or its address, such as s3://bucket/folder",
      *call);
  add_options(command, call->conversion.table(), *call, [&chosen, call] {
    call->conversion.check();
    chosen = [call] {
      run_conversion(*call, call->conversion.options(), [&] {
        return call->conversion.open(call->source, call->destination, call->dry_run);
      });
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
  ffkit::add_copy_command(app, chosen);
  ffkit::add_gc_command(app, chosen);
  ffkit::add_remove_command(app, chosen);
  names += ", v1, transcode, merge, append, copy, gc";
  app.footer(app.get_footer() + examples);
  ffkit::add_left_out_commands(app, "source");
  // CLI11's own words, "A subcommand is required", do not say which there are. Set after the
  // subcommands, which would inherit it.
  app.allow_extras();
  app.callback([&app, &names] {
    if (app.remaining_size() == 0) {
      if (!app.get_subcommands().empty()) return;
      throw CLI::ValidationError("COMMAND", "the first argument must be one of " + names);
    }
    const std::string first = app.remaining().front();
    if (std::error_code error;
        app.get_subcommands().empty() && std::filesystem::exists(first, error)) {
      const std::string look = ffkit::words_on_source(first);
      throw CLI::ValidationError(
          "COMMAND",
          fmt::format("'{}' is a path, but the first argument says what the source is; {}", first,
                      look.empty() ? "it must be one of " + names : look));
    }
    throw CLI::ExtrasError("ffconvert", app.remaining());
  });
  return ffkit::run_tool(app, argc, argv, [&chosen] {
    ffkit::catch_stop_signals();
    chosen();
    return 0;
  });
}

}  // namespace

int ffkit::run_ffconvert(int argc, char** argv) {
  return run_main("ffconvert", [&] { return run_command_line(argc, argv); });
}
