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
      return "upload that was not finished";
    case Leftover::Kind::work:
      return leftover.upload_id.empty() ? "of a data set that is not finished"
                                        : "upload of a data set that is not finished";
    case Leftover::Kind::marker:
      return "marker of a data set that is not finished";
  }
  return "";
}

void print_leftover(const Leftover& leftover) {
  std::string line = leftover.path.string();
  if (leftover.num_bytes > 0) line += ", " + in_megabytes(leftover.num_bytes);
  line += fmt::format(": {}", words_for(leftover));
  if (!leftover.since.empty()) line += ", begun " + leftover.since;
  if (leftover.is_in_use) line += "; a process has it";
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
      fmt::print("{}: not ffkit's, or of no manifest: stays\n", other.string());
    }
    for (const std::string& note : leftovers.notes) say_note(note);
    fmt::print("{} {} left over, {}; {} in manifests and {} others stay\n",
               with_commas(std::ssize(leftovers.found)),
               leftovers.found.size() == 1 ? "file or upload is" : "files and uploads are",
               in_megabytes(num_bytes), with_commas(leftovers.num_in_manifests),
               with_commas(std::ssize(leftovers.others)));
  }
  if (!arguments.remove) {
    if (!arguments.quiet && !leftovers.found.empty()) {
      fmt::print(
          "nothing was removed: --remove does it{}\n",
          num_unfinished == 0 ? "" : ", with --unfinished also what --resume would continue with");
    }
    return;
  }
  const RemovedLeftovers removed =
      remove_leftovers(arguments.place, arguments.unfinished, say_note);
  if (arguments.quiet) return;
  fmt::print("{} removed, {}\n", with_commas(removed.num_removed), in_megabytes(removed.num_bytes));
  if (num_unfinished > 0 && !arguments.unfinished) {
    fmt::print(
        "{} of a data set that is not finished {}: --unfinished removes them, and its "
        "conversion begins again\n",
        with_commas(num_unfinished), num_unfinished == 1 ? "stays" : "stay");
  }
}

}  // namespace

void add_gc_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "gc", "Shows and removes what interrupted conversions have left in a folder or a store");
  command.footer(
      "Looks into the folders of the data set and its splits, for shards that no manifest names, "
      "temporary files and\nunfinished uploads. Files that a manifest names, and files of other "
      "programs, stay.\nExamples:\n  ffconvert gc s3://bucket/imagenet\n  ffconvert gc "
      "s3://bucket/imagenet --remove");
  const auto arguments = std::make_shared<GcArguments>();
  command
      .add_option("DATA", arguments->place,
                  "Folder or address of a data set, or of one of its splits")
      ->required()
      ->option_text(" ");
  CLI::Option* const remove = command.add_flag("--remove", arguments->remove, "Removes leftovers");
  command
      .add_flag("--unfinished", arguments->unfinished,
                "Also removes the shards and markers of unfinished data sets, which --resume would "
                "use. An error if a process is writing one")
      ->needs(remove);
  command.add_flag("--quiet", arguments->quiet, "Print errors only");
  command.callback([&chosen, arguments] { chosen = [arguments] { run_gc(*arguments); }; });
}

}  // namespace ffkit
