#include "run_options.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/format/dataset.h>
#include <ffkit/trainer/task_registry.h>

#include "base/make_error.h"
#include "options/stored_options.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Of the first data set, whose task is the others' too. Nothing when there is no such split.
std::optional<Dataset> find_split(const TrainOptions& options, const char* split) {
  try {
    return Dataset::open(options.data.folders().front().path, split,
                         {.max_record_bytes = options.max_record_bytes});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return std::nullopt;
  }
}

}  // namespace

TrainOptions with_task(TrainOptions options) {
  const TaskRegistry& tasks = TaskRegistry::instance();
  if (options.task.empty() && !options.dummy && !options.data.empty()) {
    // nuScenes' small version has splits of other names.
    for (const char* split : {"train", "val", "mini_train", "mini_val"}) {
      const std::optional<Dataset> found = find_split(options, split);
      if (!found) continue;
      options.task = tasks.find_for(found->schema(), found->path().string()).name;
      break;
    }
  }
  options.task = tasks.find(options.task_name()).name;
  return options;
}

OptionTables option_tables(TrainOptions& options) {
  return option_tables(options, TaskRegistry::instance());
}

void validate(const TrainOptions& options) {
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  tables.task.check();
  tables.general.check();
}

TrainOptions with_settings_of(const fs::path& weights, TrainOptions options,
                              Communicator& communicator) {
  const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
  if (weights.empty() || !task.take_settings) return options;
  std::string text;
  on_rank_0(communicator, [&] {
    task.take_settings(options, weights);
    text = options_to_json(options, TaskRegistry::instance());
  });
  options.any_task_options =
      options_from_json(communicator.broadcast(text), "", TaskRegistry::instance())
          .any_task_options;
  return options;
}

void require_task(const CheckpointInfo& stored, const fs::path& checkpoint,
                  const TrainOptions& options) {
  if (stored.options.task_name() == options.task_name()) return;
  throw error_at(checkpoint, ErrorCode::invalid_argument,
                 "the checkpoint belongs to the task {}, but the task {} was asked for",
                 stored.options.task_name(), options.task_name());
}

namespace {

std::string processes_text(int num) {
  return fmt::format("{} process{}", num, num == 1 ? "" : "es");
}

}  // namespace

TrainOptions with_batch_of(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                           TrainOptions options, int world_size, const ResumeOptions& resume) {
  const int64_t before = stored.global_batch_size;
  const int64_t shares = world_size * options.accumulate;
  const int64_t now =
      options.global_batch_size > 0 ? options.global_batch_size : options.batch_size * shares;
  if (resume.accept_batch_change) return options;
  if (now == before && before % shares == 0) return options;
  const std::string& samples = TaskRegistry::instance().find(stored.options.task_name()).samples;
  const ErrorContext context{.path = checkpoint.string()};
  const bool is_left_open = options.global_batch_size == 0 &&
                            options.batch_size == stored.options.batch_size &&
                            options.accumulate == stored.options.accumulate;
  if (!is_left_open && now != before) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("one step of the checkpoint's run takes {0} {1}, but with these options and "
                    "{3} one step takes {2}; give {4}, or give {5} to continue with {6}",
                    before, samples, now, processes_text(world_size),
                    option_set("global_batch_size", std::to_string(before)),
                    option_name("accept_batch_change"), now),
        context);
  }
  if (before % shares != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("one step of the checkpoint's run takes {} {}, but {} with {} batches "
                            "per step cannot share this number evenly; start another number of "
                            "processes, or give {} to continue with {} per step",
                            before, samples, processes_text(world_size), options.accumulate,
                            option_name("accept_batch_change"), now),
                context);
  }
  options.global_batch_size = before;
  return options;
}

namespace {

using Json = nlohmann::ordered_json;

// Nothing where CLI11's reader could not take it back.
std::optional<std::string> quoted(const std::string& text) {
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  if (text.find_first_of("#\n\r") != std::string::npos || text.find(quote) != std::string::npos)
    return std::nullopt;
  return fmt::format("{}{}{}", quote, text, quote);
}

// As quoted(), of one text or a list of several; the empty text of an option that is not set.
std::optional<std::string> text_value(const Json& value) {
  if (!value.is_array()) return quoted(value.get<std::string>());
  std::string out;
  for (const Json& item : value) {
    const std::optional<std::string> one = quoted(item.get<std::string>());
    if (!one) return std::nullopt;
    out += (out.empty() ? "[" : ", ") + *one;
  }
  return out + "]";
}

std::string line_of(const std::string& name, const Json& value) {
  const bool is_text = value.is_string() || (value.is_array() && value.front().is_string());
  if (!is_text) return fmt::format("{} = {}\n", name, value.dump());
  if (value == "") return "";  // the default of every option that is a text
  const std::optional<std::string> text = text_value(value);
  if (!text) return fmt::format("# {}: give it by --{}\n", name, name);
  return fmt::format("{} = {}\n", name, *text);
}

}  // namespace

std::string options_to_toml(const TrainOptions& options) {
  const Json json = Json::parse(options_to_json(options, TaskRegistry::instance()));
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  std::string out = "# The options of a run of fftrain; start one like it with --config FILE.\n";
  for (const Option* option : stored_options(tables.general, tables.task)) {
    Json values = Json::array();
    for (const OptionPart& part : option->parts) values.push_back(json.at(part.key));
    out += line_of(option->name, values.size() == 1 ? values.front() : values);
  }
  return out;
}

namespace {

// `difference`: what is wrong on this rank, empty when nothing is.
void fail_together(Communicator& communicator, const std::string& difference) {
  const double num_other = communicator.sum(std::vector<double>{difference.empty() ? 0.0 : 1.0})[0];
  if (!difference.empty()) throw Error(ErrorCode::invalid_argument, difference);
  if (num_other > 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "{:.0f} of {} processes have another run than rank {}; see their messages",
                   num_other, communicator.world_size(), communicator.rank());
  }
}

Json shared_options(const TrainOptions& options, const std::vector<std::string>* given) {
  Json json = Json::parse(options_to_json(options, TaskRegistry::instance()));
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  for (const Option* option : stored_options(tables.general, tables.task)) {
    if (!option->is_local && (given == nullptr || is_given(*given, option->name))) continue;
    for (const OptionPart& part : option->parts) json.erase(part.key);
  }
  // Where the data lies may differ, the shares of several sets not.
  if (given == nullptr || is_given(*given, "data")) json["data_weights"] = options.data.weights();
  json["work_dir"] = options.work_dir.empty() ? "none" : "given";
  return json;
}

}  // namespace

void check_same_options(Communicator& communicator, const TrainOptions& options,
                        const std::vector<std::string>* given) {
  if (communicator.is_alone()) return;
  const Json own = shared_options(options, given);
  const Json first = Json::parse(communicator.broadcast(own.dump()));
  std::string difference;
  for (const auto& item : own.items()) {
    if (!difference.empty() || (first.contains(item.key()) && first[item.key()] == item.value()))
      continue;
    difference = fmt::format(
        "rank {} was started with {} {}, but rank 0 with {}; give all processes the same options",
        communicator.rank(), item.key(), item.value().dump(),
        first.contains(item.key()) ? first[item.key()].dump() : "no such option");
  }
  fail_together(communicator, difference);
}

namespace {

// `difference`: what is said where `own` is not what rank 0 has.
void check_same(Communicator& communicator, const std::string& own,
                const std::function<std::string(const std::string& first)>& difference) {
  if (communicator.is_alone()) return;
  const std::string first = communicator.broadcast(own);
  fail_together(communicator, first == own ? "" : difference(first));
}

}  // namespace

void check_same_data(Communicator& communicator, const std::string& fingerprint,
                     const DataFolders& data) {
  check_same(communicator, fingerprint, [&](const std::string&) {
    return fmt::format(
        "{} on rank {} is another data set than on rank 0; copy the same data set to all machines",
        data.string(), communicator.rank());
  });
}

void check_same_order(Communicator& communicator, const std::string& order) {
  check_same(communicator, order, [&](const std::string& first) {
    return fmt::format(
        "rank {} takes its samples in the order '{}', but rank 0 in the order '{}': only one of "
        "them reads from a store; give all processes {}, or {}",
        communicator.rank(), order, first, option_set("order", "shuffle"),
        option_set("order", "windowed"));
  });
}

}  // namespace ffkit
