#include "options/stored_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

std::string absolute_path(const std::filesystem::path& path) {
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
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw error_at(path, ErrorCode::corrupt,
                   "its options are not a JSON object; it was changed by hand");
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
                             "' is of another type; the checkpoint "
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
                        const std::vector<std::string>& given, const TaskRegistry& tasks) {
  if (is_given(given, "task") && options.task_name() != run.task_name()) return options;
  TrainOptions out = run, from = options;
  const OptionTables to_tables = option_tables(out, tasks);
  const OptionTables from_tables = option_tables(from, tasks);
  copy_given(from_tables.general, to_tables.general, given);
  if (options.task_name() == run.task_name()) copy_given(from_tables.task, to_tables.task, given);
  out.work_dir = options.work_dir;
  // A size of the batch that is given is not to be overruled by what the run made of one.
  const bool has_batch = is_given(given, "batch-size") || is_given(given, "accumulate");
  if (has_batch && !is_given(given, "global-batch-size")) out.global_batch_size = 0;
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
