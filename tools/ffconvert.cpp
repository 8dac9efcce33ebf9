// ffconvert: turns a source of pictures into a data set folder. The work is in ffkit::convert().
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/progress_bar.h>
#include <ffkit/converter/registry.h>
#include <ffkit/format/error.h>

#include "command_line.h"

namespace {

// Signal handlers cannot be given anything else than a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  // A second signal ends the process at once; the next conversion to the folder then clears up.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  // Too large a file is to be an error of write(2), with a message, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

struct Arguments {
  const ffkit::SourceKind* kind = nullptr;
  ffkit::SourceArguments source;
  std::string destination;
  ffkit::ConvertOptions options;
  bool quiet = false;
};

// CLI11 would take "-4" and octal "010" without a word.
uint64_t parse_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw CLI::ValidationError("--seed", text + " is not a number from 0 to 2^64-1");
  }
  return seed;
}

void add_options(CLI::App& command, Arguments& arguments) {
  ffkit::ConvertOptions& options = arguments.options;
  command
      .add_option("--threads", options.num_threads,
                  "Threads; 0: one a processor. Does not change the output")
      ->capture_default_str();
  command
      .add_option("--shard-size", options.shard_bytes,
                  "Bytes in a shard; 64M, 1G, ... (powers of 1024)")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE=256M");
  command
      .add_option_function<std::string>(
          "--order",
          [&options](const std::string& name) { options.order = ffkit::parse_record_order(name); },
          "shuffled: training splits in an order drawn by --seed; source: all as they come")
      ->check(CLI::IsMember({"shuffled", "source"}))
      ->option_text("shuffled|source");
  command
      .add_option_function<std::string>(
          "--seed",
          [&arguments](const std::string& text) { arguments.source.seed = parse_seed(text); },
          "Of everything that is drawn at random; 0 .. 2^64-1")
      ->option_text("NUMBER=0");
  command
      .add_option_function<std::string>(
          "--on-error",
          [&options](const std::string& name) { options.on_error = ffkit::parse_on_error(name); },
          "A picture that cannot be read: fail, or skip it and name it in DST/report.jsonl")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->option_text("fail|skip");
  command.add_flag("--quiet", arguments.quiet, "Print errors only");
}

void add_command(CLI::App& app, const ffkit::SourceKind& kind, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand(kind.name, kind.description);
  command.footer(fmt::format("Example: ffconvert {} {}", kind.name, kind.example));
  if (kind.needs_path) {
    command.add_option("SRC", arguments.source.path, "Folder to convert")
        ->required()
        ->option_text(" ");
  }
  command.add_option("DST", arguments.destination, "Data set folder to make; new or empty")
      ->required()
      ->option_text(" ");
  for (const ffkit::SourceParameter& parameter : kind.parameters) {
    command
        .add_option(fmt::format("--{}", parameter.name),
                    arguments.source.parameters[parameter.name], parameter.help)
        ->default_val(parameter.default_value)
        ->check(CLI::Range(parameter.min_value, parameter.max_value));
  }
  add_options(command, arguments);
  command.callback([&arguments, &kind] {
    try {
      ffkit::validate(arguments.options);
    } catch (const ffkit::Error& error) {
      throw CLI::ValidationError(kind.name, error.what());
    }
    arguments.kind = &kind;
  });
}

void print_summary(const ffkit::ConvertSummary& summary, const std::string& destination) {
  for (const ffkit::SplitSummary& split : summary.splits) {
    fmt::print(stderr, "{}: {} images in {} {}, {:.1f} MB, fingerprint {}\n", split.split,
               split.num_records, split.num_shards, split.num_shards == 1 ? "shard" : "shards",
               static_cast<double>(split.file_bytes) / 1e6, split.fingerprint);
  }
  fmt::print(stderr, "{} images of {} classes in {:.1f} s, {:.0f} images/s, {:.0f} MB/s\n",
             summary.num_records(), summary.num_classes, summary.seconds,
             static_cast<double>(summary.num_records()) / summary.seconds,
             static_cast<double>(summary.file_bytes()) / 1e6 / summary.seconds);
  if (summary.num_skipped() > 0) {
    fmt::print(stderr, "{} pictures could not be read and were left out: see {}/report.jsonl\n",
               summary.num_skipped(), destination);
  }
  fmt::print(stderr, "next: fftrain --data {}\n", destination);
}

void run(Arguments& arguments) {
  ffkit::ProgressBar bar(STDERR_FILENO);
  const auto note = [&](const std::string& sentence) {
    if (arguments.quiet) return;
    bar.wipe();
    fmt::print(stderr, "ffconvert: note: {}\n", sentence);
  };
  ffkit::ConvertOptions& options = arguments.options;
  options.seed = arguments.source.seed;
  options.cancel = &stop_requested;
  options.note = note;
  if (!arguments.quiet) {
    options.progress = [&bar](const ffkit::ConvertProgress& progress) { bar.update(progress); };
  }
  ffkit::check_destination(arguments.destination);  // before minutes go into listing the source
  const auto source = arguments.kind->open(arguments.source);
  for (const std::string& sentence : source->notes()) note(sentence);
  const ffkit::ConvertSummary summary = ffkit::convert(*source, arguments.destination, options);
  bar.wipe();
  if (!arguments.quiet) print_summary(summary, arguments.destination);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Turns pictures into an ffkit data set: shards of records that training reads fast.");
  app.name("ffconvert");
  app.set_version_flag("--version", "ffconvert " FFKIT_VERSION);
  app.require_subcommand(0, 1);
  app.footer("'ffconvert SOURCE --help' lists the options of a source.");
  // One set of arguments a command: defaults of one must not reach another.
  std::map<std::string, Arguments> arguments;
  std::string names;
  std::string examples = "\nExamples:";
  for (const ffkit::SourceKind& kind : ffkit::source_kinds()) {
    add_command(app, kind, arguments[kind.name]);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
    examples += fmt::format("\n  ffconvert {} {}", kind.name, kind.example);
  }
  app.footer(app.get_footer() + examples);
  // CLI11's own words, "A subcommand is required", do not say which there are. Set after the subcommands, which would inherit it.
  app.allow_extras();
  app.callback([&app, &names] {
    if (app.get_subcommands().empty()) {
      throw CLI::ValidationError("SOURCE", "the first argument must be one of " + names);
    }
    if (app.remaining_size() > 0) throw CLI::ExtrasError("ffconvert", app.remaining());
  });
  return ffkit::run_tool(app, argc, argv, [&arguments] {
    catch_signals();
    for (auto& [name, chosen] : arguments) {
      if (chosen.kind != nullptr) run(chosen);
    }
    return 0;
  });
}
