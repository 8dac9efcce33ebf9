// ffinspect cache: what this machine keeps of data sets in stores.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/storage/cache.h>

#include "commands.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kCacheFooter =
    R"(The folder of the cache is FFKIT_CACHE, or ffkit-cache-<user> in TMPDIR or /tmp. Its largest size is FFKIT_CACHE_BYTES, or half of the free space on the disk.
Files that a process uses are kept, and so are files that do not belong to the cache.

With --json: one document with folder (null: the cache is off), max_bytes (null: half of what is free), num_bytes,
  sets: [address, num_shards, num_bytes, is_in_use, last_used (seconds since 1970)], and removed_bytes with --clean.)";

struct CacheCommand {
  std::string folder;
  std::optional<std::string> clean;  // the beginning of addresses
  bool json = false;
};

std::string time_text(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(time));
}

Json json_of(const CacheOptions& options, const std::vector<CachedSet>& sets, int64_t num_bytes) {
  Json list = Json::array();
  for (const CachedSet& set : sets) {
    list.push_back({{"address", set.address},
                    {"num_shards", set.num_objects},
                    {"num_bytes", set.num_bytes},
                    {"is_in_use", set.is_in_use},
                    {"last_used", set.last_used}});
  }
  return {{"folder", options.folder.empty() ? Json() : Json(options.folder.string())},
          {"max_bytes", options.max_bytes == 0 ? Json() : Json(options.max_bytes)},
          {"num_bytes", num_bytes},
          {"sets", list}};
}

void print_sets(const CacheOptions& options, const std::vector<CachedSet>& sets,
                int64_t num_bytes) {
  if (options.folder.empty()) {
    fmt::print("the cache is off (FFKIT_CACHE)\n");
    return;
  }
  fmt::print(
      "{}\n  holds  {}, at most {}\n", options.folder.string(), human_bytes(num_bytes),
      options.max_bytes == 0 ? "half of what is free on its disk" : human_bytes(options.max_bytes));
  for (const CachedSet& set : sets) {
    fmt::print("  {}  {} of {} {}, {}\n", set.address.empty() ? "(unknown)" : set.address,
               human_bytes(set.num_bytes), set.num_objects,
               set.num_objects == 1 ? "shard" : "shards",
               set.is_in_use ? "in use" : "last used " + time_text(set.last_used));
  }
}

int cache(const CacheCommand& command) {
  CacheOptions options = cache_options();
  if (!command.folder.empty()) options.folder = command.folder;
  std::optional<int64_t> removed;
  if (command.clean) {
    removed = options.folder.empty() ? 0 : clean_cache(options.folder, *command.clean);
  }
  std::vector<CachedSet> sets;
  if (!options.folder.empty()) sets = cached_sets(options.folder);
  int64_t num_bytes = 0;
  for (const CachedSet& set : sets) num_bytes += set.num_bytes;
  if (command.json) {
    Json document = json_of(options, sets, num_bytes);
    if (removed) document["removed_bytes"] = *removed;
    print_json(document);
    return 0;
  }
  if (removed) fmt::print("removed {}\n", human_bytes(*removed));
  print_sets(options, sets, num_bytes);
  return 0;
}

}  // namespace

void add_cache_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CacheCommand>();
  CLI::App* command = app.add_subcommand("cache", "Shows the cached parts of data sets in stores");
  command->add_option("--folder", options->folder, "Uses the cache in this folder")
      ->option_text("FOLDER");
  command
      ->add_option_function<std::vector<std::string>>(
          "--clean",
          [options](const std::vector<std::string>& addresses) {
            options->clean = addresses.empty() ? "" : addresses.front();
          },
          "Removes cached data that no process uses. If you give ADDRESS, only the data of data "
          "sets with addresses that begin with ADDRESS are removed")
      ->expected(0, 1)
      ->option_text("[ADDRESS]");
  command->add_flag("--json", options->json, "Prints JSON instead of text");
  command->footer(kCacheFooter);
  command->callback([options, &action] { action = [options] { return cache(*options); }; });
}

}  // namespace ffkit
