// ffinspect verify: is a data set whole.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "commands.h"
#include "data_sets.h"
#include "output.h"
#include "split_check.h"

namespace ffkit {
namespace {

constexpr const char* kFooter = R"(Exit status 1 when anything is damaged.

With --json: one document with is_whole, splits: [split, path, is_whole, num_records, num_shards, file_bytes,
  warnings, problems: [file, record (in the file), record_index (in the split), offset, message]]; null where it does not
  apply.)";

void refuse_unfinished(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kUnfinishedMarker)) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("the conversion that made this folder has not finished ({} is there); run "
                  "the same ffconvert command again",
                  kUnfinishedMarker),
      {.path = folder.string()});
}

bool has_manifest(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "manifest.json");
}

// The files of a data set without a manifest: `path` itself, or the .ffr files in its folder of the split. Opened one by one, since
// opening FFRecord v1 as a whole reads all labels and stops at the first damaged record.
SplitCheck check_without_manifest(const std::filesystem::path& path, const std::string& split) {
  std::filesystem::path place = path;
  if (!split.empty() && std::filesystem::is_directory(path / (split + ".ffr"))) {
    place /= split + ".ffr";
  }
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(place)) {
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.is_regular_file() && entry.path().extension() == ".ffr") {
        files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
  } else if (std::filesystem::is_regular_file(place) && split.empty()) {
    files.push_back(place);
  }
  if (files.empty()) {
    Dataset::open(path, split);  // says what is wrong
    throw Error(ErrorCode::unsupported, "has no files that can be checked one by one",
                {.path = path.string()});
  }
  return check_files(place.string(), split.empty() ? place.stem().string() : split, files);
}

std::vector<SplitCheck> check_splits(const Target& target) {
  const std::filesystem::path path = target.path;
  std::vector<SplitCheck> checks;
  if (std::filesystem::is_directory(path)) {
    refuse_unfinished(path);
    const std::filesystem::path one = target.split.empty() ? path : path / target.split;
    if (has_manifest(one)) {
      if (target.split.empty()) refuse_unfinished(std::filesystem::absolute(path).parent_path());
      return {check_split_folder(one)};
    }
    if (target.split.empty()) {
      for (const std::string& split : list_splits(path)) {
        checks.push_back(has_manifest(path / split) ? check_split_folder(path / split)
                                                    : check_without_manifest(path, split));
      }
    }
  }
  if (checks.empty()) checks.push_back(check_without_manifest(path, target.split));
  return checks;
}

void print_text(const SplitCheck& check) {
  for (const Damage& damage : check.damage) fmt::print("{}\n", damage.message);
  for (const std::string& warning : check.warnings) fmt::print("note: {}\n", warning);
  if (check.damage.empty()) {
    fmt::print("{}: whole: {} {}, {} {}, {}\n", check.path, with_commas(check.num_records),
               check.num_records == 1 ? "record" : "records", with_commas(check.num_shards),
               check.num_shards == 1 ? "shard" : "shards", human_bytes(check.file_bytes));
    return;
  }
  int64_t num_records = 0;
  for (const Damage& damage : check.damage) num_records += damage.record >= 0 ? 1 : 0;
  const int64_t others = std::ssize(check.damage) - num_records;
  fmt::print("{}: DAMAGED: {} of {} records", check.path, with_commas(num_records),
             with_commas(check.num_records));
  if (others > 0) {
    fmt::print(", and {} {} outside of the records", others, others == 1 ? "problem" : "problems");
  }
  fmt::print("\n");
}

Json to_json(const SplitCheck& check) {
  Json problems = Json::array();
  const auto number_or_null = [](int64_t value) { return value < 0 ? Json() : Json(value); };
  for (const Damage& damage : check.damage) {
    problems.push_back({{"file", damage.file},
                        {"record", number_or_null(damage.record)},
                        {"record_index", number_or_null(damage.record_index)},
                        {"offset", number_or_null(damage.offset)},
                        {"message", damage.message}});
  }
  return {{"split", check.split},
          {"path", check.path},
          {"is_whole", check.damage.empty()},
          {"num_records", check.num_records},
          {"num_shards", check.num_shards},
          {"file_bytes", check.file_bytes},
          {"warnings", check.warnings},
          {"problems", problems}};
}

int verify(const Target& target) {
  const std::vector<SplitCheck> checks = check_splits(target);
  bool is_whole = true;
  Json splits = Json::array();
  for (const SplitCheck& check : checks) {
    is_whole = is_whole && check.damage.empty();
    if (target.json) {
      splits.push_back(to_json(check));
    } else {
      print_text(check);
    }
  }
  if (target.json) print_json({{"is_whole", is_whole}, {"splits", splits}});
  return is_whole ? 0 : 1;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto target = std::make_shared<Target>();
  add_command(app, "verify", "Read everything, check every checksum, list all damage", *target,
              kFooter)
      ->callback([target, &action] { action = [target] { return verify(*target); }; });
}

}  // namespace ffkit
