// The subcommands that draw, in a build without OpenCV or FreeType: they say so.
#include <ffkit/base/error.h>

#include "commands.h"

namespace ffkit {
namespace {

void add_missing_command(CLI::App& app, const char* name, Action& action) {
  CLI::App* command =
      app.add_subcommand(name, "Not available: this build cannot draw")->allow_extras();
  command->callback([name, &action] {
    action = [name]() -> int {
      throw Error(ErrorCode::unsupported,
                  std::string(name) +
                      " needs OpenCV and FreeType, which this build does not have; "
                      "install both and build with -DFFKIT_OPENCV=ON");
    };
  });
}

}  // namespace

void add_view_command(CLI::App& app, Action& action) {
  add_missing_command(app, "view", action);
}
void add_plot_command(CLI::App& app, Action& action) {
  add_missing_command(app, "plot", action);
}
void add_serve_command(CLI::App& app, Action& action) {
  add_missing_command(app, "serve", action);
}

}  // namespace ffkit
