#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/trainer/train_options.h>

#include "base/json_text.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "base/other_words.h"
#include "base/printable.h"
#include "options/stored_options.h"

namespace ffkit {
namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

DataFolder parse_folder(const std::string& word) {
  const size_t colon = word.rfind(':');
  if (is_there(word) || colon == std::string::npos || colon == 0) return {.path = word};
  // The port of a server: "http://host:8080".
  const size_t host = word.find("://");
  const bool is_of_host =
      host != std::string::npos && word.find('/', host + 3) == std::string::npos;
  if (is_of_host && begins_without_case(word, "http")) return {.path = word};
  const std::optional<double> weight =
      number_of_text<double>(std::string_view(word).substr(colon + 1));
  if (!weight) return {.path = word};
  if (!std::isfinite(*weight) || *weight <= 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "data {} has the weight {}, but a weight must be a finite number above 0; give "
                   "such a weight, or leave out the data set",
                   word, *weight);
  }
  return {.path = word.substr(0, colon), .weight = weight};
}

}  // namespace

DataFolders::DataFolders(const std::filesystem::path& folder) {
  if (!folder.empty()) folders_.push_back({.path = folder});
}
DataFolders::DataFolders(const std::string& folder) : DataFolders(std::filesystem::path(folder)) {}
DataFolders::DataFolders(const char* folder) : DataFolders(std::filesystem::path(folder)) {}

DataFolders::DataFolders(std::vector<DataFolder> folders) : folders_(std::move(folders)) {
  // One folder is all of an epoch, whatever its weight.
  if (folders_.size() == 1) folders_.front().weight.reset();
}

DataFolders DataFolders::parse(const std::vector<std::string>& words) {
  std::vector<DataFolder> folders;
  for (const std::string& word : words) {
    if (!word.empty()) folders.push_back(parse_folder(word));
  }
  return DataFolders(std::move(folders));
}

std::vector<std::string> DataFolders::words() const {
  std::vector<std::string> out;
  for (const DataFolder& folder : folders_) {
    out.push_back(folder.weight ? fmt::format("{}:{}", folder.path.string(), *folder.weight)
                                : folder.path.string());
  }
  return out;
}

std::vector<double> DataFolders::weights() const {
  const bool has_weights = std::ranges::any_of(
      folders_, [](const DataFolder& folder) { return folder.weight.has_value(); });
  std::vector<double> out;
  if (!are_several() || !has_weights) return out;
  for (const DataFolder& folder : folders_) out.push_back(folder.weight.value_or(1));
  return out;
}

const std::filesystem::path& DataFolders::only() const {
  static const std::filesystem::path kNone;
  if (are_several()) {
    throw error_of(
        ErrorCode::invalid_argument,
        "this task trains on one data set, but {} data sets were given ({}); give --data once",
        folders_.size(), string());
  }
  return empty() ? kNone : folders_.front().path;
}

std::string DataFolders::string() const {
  const std::vector<std::string> all = words();
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += i + 1 == all.size() ? " and " : ", ";
    out += all[i];
  }
  return out;
}

const std::string& TrainOptions::task_name() const {
  static const std::string first = kFirstTask;
  return task.empty() ? first : task;
}

void refuse_other_task_options() {
  throw Error(ErrorCode::invalid_argument,
              "the options belong to another task; set the options of the task that you train");
}

TrainOptions TrainOptions::resolved(int world_size) const {
  TrainOptions out = *this;
  const int64_t shares = world_size * accumulate;
  if (global_batch_size > 0) {
    if (global_batch_size % shares != 0) {
      throw error_of(ErrorCode::invalid_argument,
                     "global-batch-size is {}, which {} processes with {} batches a step cannot "
                     "share evenly; give a multiple of {}",
                     global_batch_size, world_size, accumulate, shares);
    }
    out.batch_size = global_batch_size / shares;
  }
  out.global_batch_size = out.batch_size * shares;
  const double factor = double(out.global_batch_size) / double(lr_base_batch);
  if (lr_scaling == LrScaling::linear) out.lr *= factor;
  if (lr_scaling == LrScaling::sqrt) out.lr *= std::sqrt(factor);
  out.lr_scaling = LrScaling::none;
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

std::string absolute_path(const std::filesystem::path& path) {
  if (!is_local(path)) return without_marks(path.string());
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

Json to_json(const Option& option, const OptionPart& part) {
  OptionValue value = part.get();
  if (!option.is_path) return std::visit([](const auto& v) { return Json(v); }, value);
  auto* words = std::get_if<std::vector<std::string>>(&value);
  if (words == nullptr) return absolute_path(std::get<std::string>(value));
  for (std::string& word : *words) word = absolute_path(word);
  return *words;
}

// Throws Json::exception for a value of another type.
OptionValue value_like(const Option& option, const OptionValue& old, const Json& json) {
  if (option.is_repeated) {
    if (json.is_array()) return json.get<std::vector<std::string>>();
    return json.get<std::string>();
  }
  return std::visit(
      [&](const auto& v) { return OptionValue(json.get<std::decay_t<decltype(v)>>()); }, old);
}

bool have_same_values(const Option& a, const Option& b) {
  for (size_t i = 0; i < a.parts.size(); ++i) {
    if (to_json(a, a.parts[i]) != to_json(b, b.parts[i])) return false;
  }
  return true;
}

void copy_given(const OptionTable& from, const OptionTable& to,
                const std::vector<std::string>& given) {
  for (const Option& option : from.options()) {
    const Option* target = to.find(option.name);
    if (target == nullptr || !(option.is_local || is_given(given, option.name))) continue;
    if (option.name == "data" && option.text().empty()) continue;
    for (size_t i = 0; i < option.parts.size(); ++i) target->parts[i].set(option.parts[i].get());
  }
}

bool is_same_data(const DataFolders& a, const DataFolders& b) {
  return std::ranges::equal(a.folders(), b.folders(), [](const DataFolder& x, const DataFolder& y) {
    std::error_code error;
    return x.path == y.path || std::filesystem::equivalent(x.path, y.path, error);
  });
}

// Gives what `is_left` says the values of `defaults`.
void leave(const OptionTable& table, const OptionTable& defaults,
           const std::function<bool(const Option&)>& is_left) {
  for (const Option& option : table.options()) {
    if (!is_left(option)) continue;
    const Option* fresh = defaults.find(option.name);
    for (size_t i = 0; i < option.parts.size(); ++i) option.parts[i].set(fresh->parts[i].get());
  }
}

void add_differences(const OptionTable& run, const OptionTable& now,
                     std::vector<std::string>& out) {
  for (const Option& option : now.options()) {
    const Option* before = run.find(option.name);
    if (before == nullptr || option.name == "task" || option.name == "work-dir" ||
        option.name == "keep")
      continue;
    if (have_same_values(option, *before)) continue;
    const auto word = [](const std::string& value) { return value.empty() ? "none" : value; };
    out.push_back(
        fmt::format("{} {} instead of {}", option.name, word(option.text()), word(before->text())));
  }
}

}  // namespace

std::string options_to_json(const TrainOptions& options, const TaskRegistry& tasks) {
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy, tasks);
  Json json = Json::object();
  for (const Option* option : stored_options(tables.general, tables.task)) {
    for (const OptionPart& part : option->parts) json[part.key] = to_json(*option, part);
  }
  return json_text(json);
}

TrainOptions options_from_json(const std::string& text, const std::string& path,
                               const TaskRegistry& tasks) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  for (const Renamed& name : renamed()) {
    if (name.kind == "option" && json.contains(name.old_name))
      json[std::string(name.name)] = json.at(name.old_name);
  }
  if (!json.is_object()) {
    throw error_at(
        path, ErrorCode::corrupt,
        "the options in the checkpoint are not a JSON object; the checkpoint was changed by hand");
  }
  TrainOptions options;
  if (json.contains("task") && json["task"].is_string())
    options.task = json["task"].get<std::string>();
  const OptionTables tables = option_tables(options, tasks);
  for (const OptionTable* table : {&tables.general, &tables.task}) {
    for (const Option& option : table->options()) {
      for (const OptionPart& part : option.parts) {
        // The run had the default.
        if (!json.contains(part.key)) continue;
        try {
          part.set(value_like(option, part.get(), json.at(part.key)));
        } catch (const Json::exception&) {
          throw error_at(path, ErrorCode::corrupt,
                         std::string("option '") + part.key +
                             "' has the wrong type; the checkpoint "
                             "was written by another version of fftrain or changed by hand");
        }
      }
    }
  }
  return options;
}

bool is_given(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

TrainOptions with_given(const TrainOptions& run, const TrainOptions& options,
                        const std::vector<std::string>& given, const TaskRegistry& tasks,
                        TakenFor purpose) {
  if (is_given(given, "task") && options.task_name() != run.task_name()) return options;
  TrainOptions out = run, from = options, fresh;
  fresh.task = run.task;
  const OptionTables to_tables = option_tables(out, tasks);
  const OptionTables from_tables = option_tables(from, tasks);
  const OptionTables fresh_tables = option_tables(fresh, tasks);
  const bool evaluates = purpose == TakenFor::evaluation;
  const bool is_other_data = !options.data.empty() && !is_same_data(options.data, run.data);
  const auto is_left = [&](const Option& option) {
    const auto is_one_given = [&](const std::string& name) { return is_given(given, name); };
    return std::ranges::any_of(option.yields_to, is_one_given) ||
           (evaluates && (option.is_of_training || (option.is_of_data && is_other_data)));
  };
  leave(to_tables.general, fresh_tables.general, is_left);
  leave(to_tables.task, fresh_tables.task, is_left);
  copy_given(from_tables.general, to_tables.general, given);
  if (options.task_name() == run.task_name()) copy_given(from_tables.task, to_tables.task, given);
  out.work_dir = options.work_dir;
  return out;
}

std::vector<std::string> differences(const TrainOptions& run, const TrainOptions& now,
                                     const TaskRegistry& tasks) {
  TrainOptions a = run, b = now;
  const OptionTables before = option_tables(a, tasks);
  const OptionTables after = option_tables(b, tasks);
  std::vector<std::string> out;
  add_differences(before.general, after.general, out);
  add_differences(before.task, after.task, out);
  return out;
}

}  // namespace ffkit
