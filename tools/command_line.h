// What the mains of all tools share: errors as one line on stderr, exit status 0, 1 (failed), 2 (wrong use) or 130 (stopped by a signal).
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include <ffkit/format/error.h>

namespace ffkit {

// A data set of hundreds of shards takes more open files than the 1,024 that shells allow by default: takes what the system allows.
inline void raise_open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // if not, opening the shards says so
}

// Parses the command line of `app`, whose name is the program's, and runs `action`, which returns the exit status.
template <typename Action>
int run_tool(CLI::App& app, int argc, char** argv, Action action) {
  raise_open_file_limit();
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "{0}: error: {1}; see {0} --help\n", app.get_name(), e.what());
    return 2;
  } catch (const Error& e) {
    fmt::print(stderr, "{}: error: {}\n", app.get_name(), e.what());
    return e.code() == ErrorCode::cancelled ? 130 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: error: {}\n", app.get_name(), e.what());
    return 1;
  }
}

}  // namespace ffkit
