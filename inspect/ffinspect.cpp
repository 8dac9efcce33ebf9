// ffinspect: what is in a data set, and is it whole. Data on stdout, errors on stderr; exit status
// 0, 1 (failed, damaged) or 2 (wrong use).

#include <tbb/task_arena.h>

#include <ffkit/base/machine.h>
#include <ffkit/base/version.h>

#include "commands.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

constexpr const char* kMainFooter =
    R"(Every subcommand takes --json; 'ffinspect SUBCOMMAND --help' says what it prints then.

Examples:
  ffinspect info /data/imagenet
  ffinspect ls /data/imagenet --split val --limit 5
  ffinspect cat /data/imagenet 17 --split val
  ffinspect cat /data/imagenet 17 --split val --field image --output picture.jpg
  ffinspect stats /data/imagenet --split train
  ffinspect view /data/imagenet --split train --count 24 --output sheet.png
  ffinspect view /data/nuscenes --split val --record 17 --output scene.png
  ffinspect export /data/imagenet pictures
  ffinspect plot runs/a --output plot.png
  ffinspect verify /data/imagenet)";

int run(int argc, char** argv) {
  CLI::App app("Looks into ffkit data sets, and at training runs.", "ffinspect");
  app.footer(kMainFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffinspect " FFKIT_VERSION);
  Action action;
  add_all_commands(app, action);
  return run_tool(app, argc, argv, [&] {
    // TBB's own count knows the cores that the process is bound to, but no quota.
    const int status = tbb::task_arena(usable_cores()).execute(action);
    require_written_stdout();
    return status;
  });
}

}  // namespace
}  // namespace ffkit

int ffkit::run_ffinspect(int argc, char** argv) {
  return run_main("ffinspect", [&] { return ffkit::run(argc, argv); });
}
