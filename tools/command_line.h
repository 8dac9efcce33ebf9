// What the mains of all tools share: errors as one line on stderr, exit status 0, 1 (failed) or 2 (wrong use).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

namespace ffkit {

// Parses the command line of `app`, whose name is the program's, and runs `action`, which returns the exit status.
template <typename Action>
int run_tool(CLI::App& app, int argc, char** argv, Action action) {
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "{0}: error: {1}; see {0} --help\n", app.get_name(), e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: error: {}\n", app.get_name(), e.what());
    return 1;
  }
}

}  // namespace ffkit
