// ffinspect: what is in a data set, and is it whole. Data on stdout, errors on stderr; exit status
// 0, 1 (failed, damaged) or 2 (wrong use).

#include "../command_line.h"
#include "commands.h"
#include "output.h"

namespace ffkit {
namespace {

constexpr const char* kFooter =
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
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffinspect " FFKIT_VERSION);
  Action action;
  add_info_command(app, action);
  add_ls_command(app, action);
  add_cat_command(app, action);
  add_stats_command(app, action);
  add_view_command(app, action);
  add_plot_command(app, action);
  add_export_command(app, action);
  add_verify_command(app, action);
  return run_tool(app, argc, argv, [&] {
    const int status = action();
    flush_stdout();
    return status;
  });
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  return ffkit::run(argc, argv);
}
