#include "options/given_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "options/options_json.h"

namespace ffkit {
namespace {

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

bool is_given(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

TrainOptions with_given(const TrainOptions& run, const TrainOptions& options,
                        const std::vector<std::string>& given) {
  if (is_given(given, "task") && options.task_name() != run.task_name()) return options;
  TrainOptions out = run, from = options;
  const OptionTables to_tables = option_tables(out);
  const OptionTables from_tables = option_tables(from);
  copy_given(from_tables.general, to_tables.general, given);
  if (options.task_name() == run.task_name()) copy_given(from_tables.task, to_tables.task, given);
  out.work_dir = options.work_dir;
  // A size of the batch that is given is not to be overruled by what the run made of one.
  const bool has_batch = is_given(given, "batch-size") || is_given(given, "accumulate");
  if (has_batch && !is_given(given, "global-batch-size")) out.global_batch_size = 0;
  return out;
}

std::vector<std::string> differences(const TrainOptions& run, const TrainOptions& now) {
  TrainOptions a = run, b = now;
  const OptionTables before = option_tables(a);
  const OptionTables after = option_tables(b);
  std::vector<std::string> out;
  add_differences(before.general, after.general, out);
  add_differences(before.task, after.task, out);
  return out;
}

}  // namespace ffkit
