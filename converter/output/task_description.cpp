#include "output/task_description.h"

#include <algorithm>
#include <random>
#include <system_error>

#include <nlohmann/json.hpp>

#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "format/dataset/manifest_text.h"
#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kDescriptionVersion = 1;
// Members that groups have, and attempts have not.
constexpr const char* kNumSamples = "num_samples";

[[noreturn]] void refuse_description(const std::string& why) {
  throw error_of(ErrorCode::invalid_argument, "commit() did not get the result of a task: {}", why);
}

TaskDescription description_in(const Json& json) {
  TaskDescription description{.is_of_group = json.contains(kNumSamples)};
  if (description.is_of_group) {
    description.num_samples = json.at(kNumSamples).get<int64_t>();
    description.reports = json.at("reports").get<std::vector<int64_t>>();
  } else {
    if (const int version = json.at("ffkit_task").get<int>(); version != kDescriptionVersion) {
      refuse_description(
          fmt::format("the result has version {}, but this program needs version {}; use the same "
                      "ffkit on all machines",
                      version, kDescriptionVersion));
    }
    description.job = json.at("job").get<std::string>();
    description.task = json.at("task").get<int64_t>();
    description.attempt = json.at("attempt").get<std::string>();
  }
  if (json.contains("manifest")) {
    description.manifest = parse_manifest_text(json.at("manifest").dump(), {});
  }
  return description;
}

}  // namespace

std::string to_text(const TaskDescription& description) {
  Json json = description.is_of_group
                  ? Json{{kNumSamples, description.num_samples}, {"reports", description.reports}}
                  : Json{{"ffkit_task", kDescriptionVersion},
                         {"job", description.job},
                         {"task", description.task},
                         {"attempt", description.attempt}};
  if (!description.manifest.shards.empty()) {
    json["manifest"] = Json::parse(manifest_text(description.manifest, {}));
  }
  return json.dump();
}

TaskDescription parse_task_description(const std::string& text) {
  try {
    return description_in(Json::parse(text));
  } catch (const Json::exception& error) {
    refuse_description(error.what());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    refuse_description(error.message());
  }
}

FilesThere files_there(const fs::path& folder) {
  FilesThere files;
  if (Place(folder).is_in_store()) {
    for (const ListedObject& object :
         store_of(folder.native())->list(folder.native(), /*recursive=*/false).objects) {
      files[fs::path(object.address).filename()] = object.facts.num_bytes;
    }
    return files;
  }
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code gone;  // a temporary file of an attempt that ends
    const auto size = entry.file_size(gone);
    if (!gone) files[entry.path().filename()] = static_cast<int64_t>(size);
  }
  return files;
}

bool are_there(std::span<const ManifestShard> shards, const FilesThere& files) {
  return std::ranges::all_of(shards, [&](const ManifestShard& shard) {
    const auto found = files.find(shard.file);
    return found != files.end() && found->second == shard.file_bytes;
  });
}

void require_shards(const fs::path& folder, std::span<const ManifestShard> shards,
                    const FilesThere& files, const ShardsToldBy& told) {
  for (const ManifestShard& shard : shards) {
    if (are_there({&shard, 1}, files)) continue;
    const auto found = files.find(shard.file);
    throw error_at(folder / shard.file, ErrorCode::corrupt, "{}; {}",
                   found == files.end()
                       ? fmt::format("the shard does not exist, but {} lists it", told.who)
                       : fmt::format("the shard has {} bytes, but {} bytes are listed in {}",
                                     found->second, shard.file_bytes, told.who),
                   told.remedy)
        .with_subject(told.subject);
  }
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string plan_of_job(std::string_view job) {
  return fmt::format("job-{}", job);
}

void require_job(const fs::path& folder, const std::string& job) {
  if (read_unfinished_marker(folder).plan == plan_of_job(job)) return;
  throw error_at(folder, ErrorCode::invalid_argument,
                 "the job {} no longer writes this split, because the job has ended or another job "
                 "has started to write the split",
                 job)
      .with_subject(ErrorSubject::destination);
}

}  // namespace ffkit
