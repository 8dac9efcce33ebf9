// ffconvert gc: what interrupted conversions and copies have left.
#include <fmt/format.h>

#include <memory>
#include <string>

#include <ffkit/converter/leftovers.h>

#include "base/printable.h"
#include "options.h"

namespace ffkit {
namespace {

struct GcArguments {
  std::string place;
  bool remove = false;
  bool unfinished = false;
  bool quiet = false;
};

const char* words_for(const Leftover& leftover) {
  switch (leftover.kind) {
    case Leftover::Kind::shard:
      return "shard that no manifest names";
    case Leftover::Kind::temporary:
      return "temporary file";
    case Leftover::Kind::upload:
      return "unfinished upload";
    case Leftover::Kind::work:
      return leftover.upload_id.empty() ? "file of an unfinished data set"
                                        : "upload of an unfinished data set";
    case Leftover::Kind::marker:
      return "marker of an unfinished data set";
  }
  return "";
}

void print_leftover(const Leftover& leftover) {
  std::string line = leftover.path.string();
  if (leftover.num_bytes > 0) line += ", " + in_megabytes(leftover.num_bytes);
  line += fmt::format(": {}", words_for(leftover));
  if (!leftover.since.empty()) line += ", started " + leftover.since;
  if (leftover.is_in_use) line += "; a process uses it";
  fmt::print("{}\n", line);
}

void run_gc(const GcArguments& arguments) {
  const Leftovers leftovers = find_leftovers(arguments.place);
  int64_t num_bytes = 0;
  int64_t num_unfinished = 0;
  for (const Leftover& leftover : leftovers.found) {
    if (!arguments.quiet) print_leftover(leftover);
    num_bytes += leftover.num_bytes;
    num_unfinished += leftover.is_of_unfinished() ? 1 : 0;
  }
  if (!arguments.quiet) {
    for (const auto& other : leftovers.others) {
      fmt::print("{}: kept; it is not a file of ffkit, or no manifest names it\n", other.string());
    }
    for (const std::string& note : leftovers.notes) say_note(note);
    fmt::print("{} {} left over, {}; {} in manifests and {} others are kept\n",
               with_commas(std::ssize(leftovers.found)),
               leftovers.found.size() == 1 ? "file or upload is" : "files and uploads are",
               in_megabytes(num_bytes), with_commas(leftovers.num_in_manifests),
               with_commas(std::ssize(leftovers.others)));
  }
  if (!arguments.remove) {
    if (!arguments.quiet && !leftovers.found.empty()) {
      fmt::print(
          "nothing was removed; give --remove to remove them{}\n",
          num_unfinished == 0 ? "" : ", and --unfinished to remove unfinished data sets too");
    }
    return;
  }
  const RemovedLeftovers removed =
      remove_leftovers(arguments.place, arguments.unfinished, say_note);
  if (arguments.quiet) return;
  fmt::print("{} removed, {}\n", with_commas(removed.num_removed), in_megabytes(removed.num_bytes));
  if (num_unfinished > 0 && !arguments.unfinished) {
    fmt::print(
        "{} of an unfinished data set kept; give --unfinished to remove them, and the "
        "conversion starts again\n",
        counted(num_unfinished, "leftover"));
  }
}

}  // namespace

void add_gc_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "gc", "Shows and removes leftovers of interrupted conversions in a folder or a store");
  command.footer(
      "Searches the folders of the data set and its splits for shards that no manifest names, "
      "temporary files and\nunfinished uploads. Files that a manifest names, and files of other "
      "programs, are kept.\nExamples:\n  ffconvert gc s3://bucket/imagenet\n  ffconvert gc "
      "s3://bucket/imagenet --remove");
  const auto arguments = std::make_shared<GcArguments>();
  add_place(command, "DATA", arguments->place,
            "Folder or address of a data set, or of one of its splits");
  CLI::Option* const remove = command.add_flag("--remove", arguments->remove, "Removes leftovers");
  command
      .add_flag("--unfinished", arguments->unfinished,
                "Also removes the shards and markers of unfinished data sets, although --resume "
                "could still use them. If a process is writing such a data set, this is an error")
      ->needs(remove);
  command.add_flag("--quiet", arguments->quiet, "Prints only errors");
  command.callback([&chosen, arguments] { chosen = [arguments] { run_gc(*arguments); }; });
}

}  // namespace ffkit
