// ffinspect verify: is a data set whole.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "format/dataset/dataset_files.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kVerifyFooter = R"(The exit status is 1 if anything is damaged.

With --json: one document with is_whole, splits: [split, path, is_whole, num_records, num_shards, file_bytes,
  num_pictures and num_dct_pictures (with --pictures), warnings,
  problems: [file, record (in the file), record_index (in the split), offset, message]]; null where it does not apply.)";

// The .ffr files in a folder, sorted; or `place` itself, where it is a file and stands for no
// split.
std::vector<std::filesystem::path> files_at(const std::filesystem::path& place, bool may_be_file) {
  std::vector<std::filesystem::path> files;
  if (!Place(place).is_in_store()) {
    const bool is_file = std::filesystem::is_regular_file(place);
    return may_be_file || !is_file ? find_v1_files(place, "").value_or(files) : files;
  }
  for (const std::string& name : names_in_folder(place).files) {
    if (name.ends_with(".ffr")) files.push_back(place / name);
  }
  if (files.empty() && may_be_file && has_object(place)) files.push_back(place);
  return files;
}

// The files of a data set without a manifest: `path` itself, or the .ffr files in its folder of the
// split. Opened one by one, since opening FFRecord v1 as a whole reads all labels and stops at the
// first damaged record.
SplitCheck check_without_manifest(const std::filesystem::path& path, const std::string& split,
                                  const CheckOptions& options) {
  std::filesystem::path place = path;
  if (!split.empty()) {
    const std::filesystem::path of_split = path / (split + ".ffr");
    if (!files_at(of_split, /*may_be_file=*/false).empty()) place = of_split;
  }
  const std::vector<std::filesystem::path> files = files_at(place, split.empty());
  if (files.empty()) {
    Dataset::open(path, split, options.reader);  // says what is wrong
    throw error_at(path, ErrorCode::unsupported, "has no files that can be checked one by one");
  }
  SplitCheck check =
      check_files(place.string(), split.empty() ? place.stem().string() : split, files, options);
  if (!check.damage.empty()) return check;
  // What is wrong with whole files together, or with the meta.pkl beside them.
  try {
    Dataset::open(path, split, options.reader);
  } catch (const Error& error) {
    check.damage.push_back(
        {.file = error.context().path, .message = error.text(OptionStyle::command_line)});
  }
  return check;
}

// A part of FFRecord v1 does not say how many belong to it, so it may not be taken for whole; a
// shard is whole by itself.
void refuse_part_of_unfinished(const std::filesystem::path& file) {
  bool is_v1 = false;
  try {
    is_v1 = ShardReader(file).facts().version == 1;
  } catch (const Error&) {
    return;  // the check says more
  }
  if (is_v1) refuse_unfinished_file(file);
}

std::vector<SplitCheck> check_splits(const Target& target, const CheckOptions& options) {
  const std::filesystem::path path = target.path;
  std::vector<SplitCheck> checks;
  if (std::filesystem::is_regular_file(path)) refuse_part_of_unfinished(path);
  if (may_be_folder(path)) {
    refuse_unfinished(path);
    const std::filesystem::path one = target.split.empty() ? path : path / target.split;
    if (is_split_folder(one)) return {check_split_folder(one, options)};
    if (target.split.empty()) {
      for (const std::string& split : list_splits(path)) {
        checks.push_back(is_split_folder(path / split)
                             ? check_split_folder(path / split, options)
                             : check_without_manifest(path, split, options));
      }
    }
  }
  if (checks.empty()) {
    checks.push_back(check_without_manifest(path, target.split, options));
  }
  return checks;
}

std::string pictures_text(const SplitCheck& check) {
  std::string text = fmt::format("; {} decoded", counted(check.num_pictures, "picture"));
  if (check.num_dct_pictures > 0) {
    text +=
        fmt::format(", {} in the dct code give {} JPEG again", with_commas(check.num_dct_pictures),
                    check.num_dct_pictures == 1 ? "its" : "their");
  }
  return text;
}

void print_check(const SplitCheck& check, bool with_pictures) {
  for (const Damage& damage : check.damage) fmt::print("{}\n", damage.message);
  for (const std::string& warning : check.warnings) fmt::print("note: {}\n", warning);
  if (check.damage.empty()) {
    fmt::print("{}: whole: {}, {}, {}{}\n", check.path, counted(check.num_records, "record"),
               counted(check.num_shards, "shard"), human_bytes(check.file_bytes),
               with_pictures ? pictures_text(check) : "");
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

Json check_to_json(const SplitCheck& check, bool with_pictures) {
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
          {"num_pictures", with_pictures ? Json(check.num_pictures) : Json()},
          {"num_dct_pictures", with_pictures ? Json(check.num_dct_pictures) : Json()},
          {"warnings", check.warnings},
          {"problems", problems}};
}

struct VerifyOptions {
  Target target;
  bool pictures = false;
};

int verify(const VerifyOptions& options) {
  const Target& target = options.target;
  const std::vector<SplitCheck> checks =
      check_splits(target, {.reader = target.reader, .pictures = options.pictures});
  bool is_whole = true;
  Json splits = Json::array();
  for (const SplitCheck& check : checks) {
    is_whole = is_whole && check.damage.empty();
    if (target.json) {
      splits.push_back(check_to_json(check, options.pictures));
    } else {
      print_check(check, options.pictures);
    }
  }
  if (target.json) print_json({{"is_whole", is_whole}, {"splits", splits}});
  return is_whole ? 0 : 1;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      add_command(app, "verify", "Reads all files, checks every checksum, and lists all damage",
                  options->target, kVerifyFooter);
  command->add_flag("--pictures", options->pictures,
                    "Also decodes every picture, and checks that each picture in the dct code "
                    "gives a JPEG file with the same pixels");
  command->callback([options, &action] { action = [options] { return verify(*options); }; });
}

}  // namespace ffkit
