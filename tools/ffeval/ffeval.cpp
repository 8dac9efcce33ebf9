// ffeval: figures of a model's results against a data set. Data on stdout, errors on stderr; exit
// status 0, 1 (failed) or 2 (wrong use).
#include <ffkit/base/version.h>

#include "commands.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Evaluates results against the annotations of an ffkit data set.", "ffeval");
  app.footer(
      "Example:\n"
      "  ffeval nuscenes /fast/nuscenes --split val --results detections.json");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffeval " FFKIT_VERSION);
  ffkit::Action action;
  ffkit::add_nuscenes_command(app, action);
  ffkit::add_rootnet_command(app, action);
  return ffkit::run_tool(app, argc, argv, [&] {
    const int status = action();
    ffkit::require_written_stdout();
    return status;
  });
}

}  // namespace

int ffkit::run_ffeval(int argc, char** argv) {
  return run_main("ffeval", [&] { return run(argc, argv); });
}
