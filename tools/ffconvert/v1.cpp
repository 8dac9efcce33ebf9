// ffconvert v1: FFRecord v1 to a data set folder, and back.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/progress_bar.h>
#include <ffkit/converter/v1.h>
#include <ffkit/sources/transcode.h>

#include "base/make_error.h"
#include "options.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

struct V1Arguments : ConvertArguments {
  V1Arguments() { describe(v1, convert, table); }

  std::string source;
  V1Options v1;
  ConvertOptions convert;
  OptionTable table;  // over the members above
};

void check_for_reading_v1(const V1Arguments& arguments, const Dataset& split) {
  arguments.table.refuse({"field"}, "is for writing FFRecord v1; SRC already is FFRecord v1");
  const bool is_raw = split.schema().index_of("data") >= 0;
  const bool is_imagenet = split.schema().index_of("label") >= 0;
  const V1Content content = arguments.v1.content;
  const bool fits = content == V1Content::imagenet ? is_imagenet : is_raw;
  if (content == V1Content::automatic || fits) return;
  throw error_of(ErrorCode::invalid_argument, "{}: the records of SRC are {}; leave the option out",
                 option_set("payload", to_string(content)),
                 is_imagenet ? "those of ImageNet, and are read as pictures and labels"
                 : is_raw    ? "not pickles of an image and a label"
                             : "pictures, or pickles with values that become fields");
}

void read_v1(V1Arguments& arguments, std::vector<Dataset> splits) {
  as_wrong_use("v1", [&] { check_for_reading_v1(arguments, splits.front()); });
  run_conversion(arguments, arguments.convert, [&] { return open_datasets(std::move(splits)); });
}

void write_as_v1(V1Arguments& arguments, const std::vector<Dataset>& splits) {
  V1Options& options = arguments.v1;
  ProgressBar bar(STDERR_FILENO);
  if (!arguments.quiet) show_on(bar, arguments.convert);
  arguments.convert.cancel = stop_flag();
  arguments.convert.command = finishing_command(false);
  as_wrong_use("v1", [&] { take_over(options, arguments.convert, arguments.table); });
  if (arguments.dry_run) {
    return print_estimate(estimate_v1(splits, options), "records", "part");
  }
  const ConvertSummary summary = write_v1(splits, arguments.destination, options);
  bar.wipe();
  if (arguments.quiet) return;
  for (const SplitSummary& split : summary.splits) {
    say("{}\n", split_line(split, "records", "part"));
  }
  say("{} records in {:.1f} s, {:.0f} MB/s\n", summary.num_records(), summary.seconds,
      static_cast<double>(summary.file_bytes()) / 1e6 / summary.seconds);
}

void run_v1(V1Arguments& arguments) {
  check_destination(arguments.destination, arguments.convert);
  std::vector<Dataset> splits =
      open_splits(arguments.source, {.max_record_bytes = arguments.convert.max_record_bytes});
  if (are_v1(splits, arguments.source)) {
    read_v1(arguments, std::move(splits));
  } else {
    write_as_v1(arguments, splits);
  }
}

}  // namespace

void add_v1_command(CLI::App& app, Action& chosen) {
  CLI::App& command =
      *app.add_subcommand("v1", "Converts FFRecord v1 to an ffkit data set, or back");
  command.footer(
      "The direction depends on the format of SRC.\n"
      "Examples:\n"
      "  ffconvert v1 /data/imagenet-v1 /fast/imagenet    # train.ffr/PART_*.ffr, val.ffr/..., "
      "meta.pkl\n"
      "  ffconvert v1 /fast/imagenet /data/imagenet-v1");
  const auto arguments = std::make_shared<V1Arguments>();
  add_folders(command, &arguments->source,
              "FFRecord v1 (a file, a folder of parts, or a data set), a data set folder of ffkit, "
              "or an address of one of them",
              *arguments);
  add_options(command, arguments->table, *arguments, [&chosen, arguments] {
    validate(arguments->convert, arguments->table);
    chosen = [arguments] { run_v1(*arguments); };
  });
}

}  // namespace ffkit
