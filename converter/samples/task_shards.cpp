#include "samples/task_shards.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "format/dataset/manifest_text.h"

namespace ffkit {
namespace {

constexpr int kDescriptionVersion = 1;

[[noreturn]] void refuse_description(const std::string& why) {
  throw error_of(ErrorCode::invalid_argument,
                 "what was given to commit() is not what a task's end returned: {}", why);
}

}  // namespace

std::string task_shard_name(int64_t task, int64_t number, std::string_view attempt) {
  return fmt::format("shard-{:06}-{:05}-{}.ffr", task, number, attempt);
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string plan_of_job(std::string_view job) {
  return fmt::format("job-{}", job);
}

void require_job(const std::filesystem::path& folder, const std::string& job) {
  if (read_unfinished_marker(folder).plan == plan_of_job(job)) return;
  throw error_at(folder, ErrorCode::invalid_argument,
                 "is not written by the job {} now: that job has been finished or given up, or "
                 "another one has begun to write this split",
                 job)
      .with_subject(ErrorSubject::destination);
}

std::string to_text(const TaskDescription& description) {
  nlohmann::json json = {{"ffkit_task", kDescriptionVersion},
                         {"job", description.job},
                         {"task", description.task},
                         {"attempt", description.attempt}};
  if (!description.manifest.shards.empty()) {
    json["manifest"] = nlohmann::json::parse(manifest_text(description.manifest, {}));
  }
  return json.dump();
}

TaskDescription parse_task_description(const std::string& text) {
  TaskDescription description;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (const int version = json.at("ffkit_task").get<int>(); version != kDescriptionVersion) {
      refuse_description(
          fmt::format("it is of version {}, and this program knows {}; use the same "
                      "ffkit on all machines",
                      version, kDescriptionVersion));
    }
    description.job = json.at("job").get<std::string>();
    description.task = json.at("task").get<int64_t>();
    description.attempt = json.at("attempt").get<std::string>();
    if (json.contains("manifest")) {
      description.manifest = parse_manifest_text(json.at("manifest").dump(), {});
    }
  } catch (const nlohmann::json::exception& error) {
    refuse_description(error.what());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    refuse_description(error.message());
  }
  return description;
}

}  // namespace ffkit
