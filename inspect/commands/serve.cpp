// ffinspect serve: the data set in the browser.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include <ffkit/base/machine.h>

#include "commands.h"
#include "data/data_sets.h"
#include "http/server.h"
#include "serve/site.h"
#include "tools/common/command_line.h"
#include "views/record_views.h"

namespace ffkit {
namespace {

constexpr const char* kServeFooter =
    R"(Prints an address for a browser on this machine, and the ssh line for a browser on another one. Only a person with the address sees the data. The
server listens on 127.0.0.1 only, and the page loads nothing from elsewhere. The server only reads the data set, and keeps hashes of duplicates in --hashes. Ctrl-C ends the server.

With --json: one document with address, port and token, when it is ready.)";

struct ServeOptions {
  Target target;
  std::vector<std::string> results;
  std::string config;
  std::string hashes;
  std::string token;
  int port = 0;
  bool open = false;
};

void print_addresses(const ServeOptions& options, const http::Server& server) {
  const std::string address = server.address();
  if (options.target.json) {
    fmt::print("{{\"address\": \"{}\", \"port\": {}}}\n", address, server.port());
  } else {
    std::string host(256, '\0');
    if (gethostname(host.data(), host.size() - 1) != 0) host = "HOST";
    host.resize(host.find('\0'));
    fmt::print(
        "{}\n"
        "From another machine, in a terminal of it:  ssh -N -L {}:127.0.0.1:{} {}\n"
        "Ctrl-C ends it.\n",
        address, server.port(), server.port(), shell_word(host));
  }
  std::fflush(stdout);
}

// Opens the address with the desktop's program. It says itself what is wrong with it.
void open_browser(const std::string& address) {
  const std::string command = "xdg-open " + shell_word(address) + " > /dev/null 2>&1 &";
  if (std::system(command.c_str()) != 0) {
    fmt::print(stderr, "ffinspect: warning: cannot start xdg-open; open the address yourself\n");
  }
}

int serve_data(const ServeOptions& options) {
  serve::ServedSet set{.path = options.target.path};
  for (const Dataset& split : open_splits(options.target)) {
    set.splits.emplace_back(split);
    for (const std::string& warning : split.warnings()) {
      fmt::print(stderr, "ffinspect: warning: {}\n", warning);
    }
  }
  if (options.results.size() > 2) {
    throw CLI::ValidationError("--results", "takes at most two files");
  }
  if (!options.results.empty()) serve::read_results(set, options.results[0]);
  if (options.results.size() > 1) serve::read_other_results(set, options.results[1]);
  if (!options.config.empty()) set.run = transform_of_run(options.config);
  const std::filesystem::path hashes =
      options.hashes.empty() ? default_hash_folder() : std::filesystem::path(options.hashes);
  serve::Site site(std::move(set), hashes);
  const http::Gate gate(options.token.empty() ? http::random_token() : options.token);
  const http::Limits limits{.num_workers = std::clamp(static_cast<int>(usable_cores()), 2, 16)};
  http::Server server(
      options.port, gate, [&site](const http::Request& request) { return site.answer(request); },
      limits);
  print_addresses(options, server);
  if (options.open) open_browser(server.address());
  server.run();
  return 0;
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      add_command(app, "serve", "Shows the data set in the browser", options->target, kServeFooter);
  command
      ->add_option("--results", options->results,
                   "Results to show beside the truth. These are classes as fftrain writes them "
                   "(.jsonl), detections in the official JSON of nuScenes or COCO, or roots of "
                   "persons. If you give two files of classes, they are compared")
      ->option_text("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--config", options->config,
                   "File config.toml of a run of fftrain. The page then shows pictures after the "
                   "transforms of this run, as the training sees them")
      ->option_text("FILE");
  command
      ->add_option("--port", options->port, "Port of the address 127.0.0.1. 0 means any free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--token", options->token,
                   "Secret in the address, instead of a random secret. It has 16 to 128 letters, "
                   "digits, '-' and '_'")
      ->option_text("TEXT");
  command
      ->add_option("--hashes", options->hashes,
                   "Folder for hashes of pictures, which are used to find duplicates. The default "
                   "is ~/.cache/ffkit/hashes")
      ->option_text("FOLDER");
  command->add_flag("--open", options->open, "Opens the address in the desktop's browser");
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return serve_data(*options); }; });
}

}  // namespace ffkit
