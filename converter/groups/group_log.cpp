#include "groups/group_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>

#include "format/dataset/manifest_text.h"
#include "plan/group_plan.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxLogBytes = 256 << 20;

FinishedGroup parse_group_log(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  FinishedGroup finished{.reports = json.at("reports").get<std::vector<int64_t>>(),
                         .num_samples = json.at("num_samples").get<int64_t>(),
                         .samples = json.at("samples").get<std::string>()};
  if (json.contains("manifest")) {
    finished.shards = parse_manifest_text(json.at("manifest").dump(), {}).shards;
  }
  return finished;
}

}  // namespace

std::string group_log_name(int64_t group) {
  return fmt::format("shard-{:05}.group.tmp", group * kShardsOfGroup);
}

void write_group_log(const std::filesystem::path& folder, int64_t group, const Manifest& manifest,
                     const FinishedGroup& finished) {
  nlohmann::json json = {{"num_samples", finished.num_samples},
                         {"samples", finished.samples},
                         {"reports", finished.reports}};
  if (!finished.shards.empty()) {
    Manifest of_group{.split = manifest.split, .schema = manifest.schema};
    of_group.shards = finished.shards;
    json["manifest"] = nlohmann::json::parse(manifest_text(of_group, {}));
  }
  write_text_at(folder / group_log_name(group), json.dump());
}

std::optional<FinishedGroup> read_group_log(const std::filesystem::path& folder, int64_t group,
                                            const std::map<std::string, int64_t>& shards) {
  const std::filesystem::path path = folder / group_log_name(group);
  if (!is_file_at(path)) return std::nullopt;
  try {
    FinishedGroup finished = parse_group_log(read_text_at(path, kMaxLogBytes));
    const bool are_there = std::ranges::all_of(finished.shards, [&](const ManifestShard& shard) {
      const auto found = shards.find(shard.file);
      return found != shards.end() && found->second == shard.file_bytes;
    });
    if (are_there) return finished;
  } catch (const nlohmann::json::exception&) {
    // It was cut: the group is opened again.
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
  }
  return std::nullopt;
}

}  // namespace ffkit
