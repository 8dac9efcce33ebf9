#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/progress_bar.h>

#include "base/printable.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

std::vector<std::string> command_line;

// As one word of a shell's.
std::string quoted(std::string word) {
  // What stands behind may be a signature, and the command is written beside the data.
  if (begins_without_case(word, "https://") || begins_without_case(word, "http://")) {
    word.resize(std::min(word.find('?'), word.size()));
  }
  return shell_word(word);
}

// Gives the part by its number in place of "auto", which may be in a file of options as well.
void name_part(std::vector<std::string>& words, const ConvertPart& part) {
  const std::string number = fmt::format("{}/{}", part.index, part.count);
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].starts_with("--part=")) {
      words[i] = "--part=" + number;
      return;
    }
    if (words[i] == "--part" && i + 1 < words.size()) {
      words[i + 1] = number;
      return;
    }
  }
  words.insert(std::ranges::find(words, "--"), "--part=" + number);
}

// What has become of the whole at the end of one of its parts.
void print_parts(const ConvertSummary& summary, const std::string& destination, const char* noun) {
  if (summary.num_parts == 0) return;
  const int64_t num_ready = summary.num_finished_parts;
  if (num_ready < summary.num_parts) {
    say("{} of {} parts {} ready; the part that ends last merges them\n", num_ready,
        summary.num_parts, num_ready == 1 ? "is" : "are");
  } else if (summary.merged.empty()) {
    say("all {} parts are ready, and another process merges them or has merged them; if it was "
        "stopped, run 'ffconvert merge {}'\n",
        summary.num_parts, shell_word(destination));
  } else {
    say("all {} parts are ready and merged:\n", summary.num_parts);
    for (const SplitSummary& split : summary.merged) {
      say("{}, fingerprint {}\n", split_line(split, noun, "shard"), split.fingerprint);
    }
  }
}

void print_summary(const ConvertSummary& summary, const std::string& destination, const char* noun,
                   bool can_be_trained) {
  const bool has_classes = summary.num_classes > 0;
  const std::string& report = summary.report_folder.empty() ? destination : summary.report_folder;
  for (const SplitSummary& split : summary.splits) {
    say("{}, fingerprint {}\n", split_line(split, noun, "shard"), split.fingerprint);
    std::string totals;
    for (const auto& [column, total] : split.totals) {
      totals += fmt::format("{}{} {}", totals.empty() ? "" : ", ", column, with_commas(total));
    }
    if (!totals.empty()) say("{}: {}\n", split.split, totals);
  }
  if (!summary.was_finished) {
    say("{} {}{} in {:.1f} s, {:.0f} {}/s, {:.0f} MB/s\n", summary.num_records(), noun,
        has_classes ? fmt::format(" of {} classes", summary.num_classes) : "", summary.seconds,
        static_cast<double>(summary.num_records()) / summary.seconds, noun,
        static_cast<double>(summary.file_bytes()) / 1e6 / summary.seconds);
  }
  if (const int64_t requests = summary.num_store_requests; requests > 0) {
    say("{} to stores, {} read\n", counted(requests, "request"),
        in_megabytes(summary.num_store_bytes));
  }
  if (summary.num_skipped() > 0) {
    say("{} {} could not be read and were left out: see {}/report.jsonl\n", summary.num_skipped(),
        noun, report);
  }
  if (const int64_t count = summary.num_without_dct(); count > 0) {
    std::string reasons;
    for (const auto& [reason, number] : summary.without_dct) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", number, reason);
    }
    say("{} {} no dct code and {} kept as {} ({}): see {}/report.jsonl\n", count,
        count == 1 ? "picture has" : "pictures have", count == 1 ? "is" : "are",
        count == 1 ? "it is" : "they are", reasons, report);
  }
  for (const auto& [words, count] : summary.remarks) {
    say("note: {} {} a picture {}: see {}/report.jsonl\n", count, count == 1 ? "time" : "times",
        words, report);
  }
  int64_t num_named = summary.num_skipped() + summary.num_without_dct() + summary.num_remarks();
  for (const auto& [action, reported] : summary.reported) num_named += reported.num_lines;
  if (const int64_t num_others = summary.num_reported - num_named; num_others > 0) {
    say("{} {} were repaired, or kept although they are damaged: see {}/report.jsonl\n", num_others,
        noun, report);
  }
  if (summary.headers_only && !summary.was_finished) {
    say("only the headers of the pictures were checked; run 'ffinspect verify {} --pictures' to "
        "decode all of them\n",
        destination);
  }
  print_parts(summary, destination, noun);
  if (can_be_trained) say("next: fftrain --data {} --work-dir runs/1\n", destination);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<int64_t>(seconds / 60 + 0.5);
  return minutes < 90 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

}  // namespace

void add_place(CLI::App& command, const char* name, std::string& place, const std::string& help) {
  command.add_option(name, place, help)->required()->option_text(" ");
}

void add_folders(CLI::App& command, std::string* source, const std::string& source_help,
                 ConvertArguments& arguments) {
  if (source != nullptr) add_place(command, "SRC", *source, source_help);
  add_place(command, "DST", arguments.destination,
            "Data set folder to make, or an address (s3://bucket/set, gs://...).\nThe folder must "
            "be new or empty");
}

void add_options(CLI::App& command, OptionTable& table, ConvertArguments& arguments,
                 std::function<void()> when_parsed) {
  add_options_file(command);
  WhenParsed set_flags;
  for (const std::string& group : groups_of(table)) {
    command.option_defaults()->group(
        group.empty() ? "Options" : with_option_names(group, OptionStyle::command_line));
    for (Option& option : table.options()) {
      if (option.group == group) add_table_option(command, option, set_flags, false);
    }
  }
  command.option_defaults()->configurable(false);
  command.add_flag(
      "--dry-run", arguments.dry_run,
      "Prints the splits, the sizes and the time of the conversion, and writes nothing");
  command.add_flag("--quiet", arguments.quiet, "Prints only errors");
  command.callback([&command, set_flags, when_parsed = std::move(when_parsed)] {
    for (const auto& set : set_flags) set();
    as_wrong_use(command.get_name(), when_parsed);
  });
}

void as_wrong_use(const std::string& command, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    throw CLI::ValidationError(command, error.text(OptionStyle::command_line));
  }
}

void say_note(const std::string& sentence) {
  say("ffconvert: note: {}\n", with_option_names(sentence, OptionStyle::command_line));
}

void run_conversion(const ConvertArguments& arguments, ConvertOptions& options,
                    const std::function<std::unique_ptr<Source>()>& open) {
  ProgressBar bar(STDERR_FILENO);
  const auto note = [&](const std::string& sentence) {
    if (arguments.quiet) return;
    bar.wipe();
    say_note(sentence);
  };
  options.cancel = stop_flag();
  options.note = note;
  options.command = finishing_command(true, options.part);
  if (!arguments.quiet) {
    options.progress = [&bar](const ConvertProgress& progress) { bar.update(progress); };
  }
  // Before minutes go into listing the source.
  check_destination(arguments.destination, options);
  const auto source = open();
  for (const std::string& sentence : source->notes()) note(sentence);
  if (arguments.dry_run) {
    return print_estimate(estimate_conversion(*source, options), record_noun(*source), "shard");
  }
  const ConvertSummary summary = convert(*source, arguments.destination, options);
  bar.wipe();
  if (arguments.quiet) return;
  const bool can_be_trained = !source->classes().empty() && options.part.count == 1 &&
                              source->schema().difference(image_classification_schema()).empty();
  print_summary(summary, arguments.destination, record_noun(*source), can_be_trained);
}

std::string split_line(const SplitSummary& split, const char* records, const char* part) {
  return fmt::format("{}: {} {} in {} {}{}, {:.1f} MB", split.split, split.num_records, records,
                     split.num_shards, part, split.num_shards == 1 ? "" : "s",
                     static_cast<double>(split.file_bytes) / 1e6);
}

void print_estimate(const ConvertEstimate& estimate, const char* records, const char* parts) {
  int64_t num_bytes = 0;
  for (const SplitEstimate& split : estimate.splits) {
    fmt::print("{}: {} {} in {} {}{}, about {:.1f} MB\n", split.split, split.num_samples, records,
               split.num_shards, parts, split.num_shards == 1 ? "" : "s",
               static_cast<double>(split.file_bytes) / 1e6);
    num_bytes += split.file_bytes;
  }
  fmt::print("about {:.1f} MB; reading and encoding take about {}\n",
             static_cast<double>(num_bytes) / 1e6, duration(estimate.seconds));
  require_written_stdout();
}

void remember_command(int argc, char** argv) {
  command_line = without_values({argv, argv + argc});
}

std::string finishing_command(bool can_resume, const ConvertPart& part) {
  std::error_code unknown;
  std::string command = "cd " + quoted(std::filesystem::current_path(unknown).string()) + " &&";
  bool is_added = !can_resume || std::ranges::find(command_line, "--resume") != command_line.end();
  std::vector<std::string> words = command_line;
  if (!part.found_by.empty()) name_part(words, part);
  for (const std::string& word : words) {
    if (word == "--" && !is_added) {
      command += " --resume";
      is_added = true;
    }
    command += " " + quoted(word);
  }
  return is_added ? command : command + " --resume";
}

}  // namespace ffkit
