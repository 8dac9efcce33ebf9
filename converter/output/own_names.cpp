#include "output/own_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <ffkit/format/dataset.h>

#include "base/file/file_lock.h"
#include "base/number_text.h"

namespace ffkit {
namespace {

constexpr std::array<std::string_view, 6> kTemporary = {kGatheredFile,      "manifest.json.tmp",
                                                        "report.jsonl.tmp", "meta.pkl.tmp",
                                                        "before.tmp",       "after.tmp"};

// Takes so many characters of `name` that are all what `is_one` says; returns whether it did.
template <typename Is>
bool take(std::string_view& name, size_t least, size_t most, const Is& is_one) {
  const auto end = std::ranges::find_if_not(name, is_one);
  const auto count = static_cast<size_t>(end - name.begin());
  if (count < least || count > most) return false;
  name.remove_prefix(count);
  return true;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// What is behind "shard-00012" or "shard-000003-00012-0123456789abcdef"; empty for other names.
std::string_view behind_number(std::string_view name) {
  constexpr size_t kAttemptDigits = 16;
  constexpr size_t kLeast = 5;
  constexpr size_t kMost = 20;
  if (!take_text(name, "shard-")) return {};
  if (!take(name, kLeast, kMost, is_digit)) return {};
  if (!name.starts_with('-')) return name;
  const auto is_dash = [](char c) { return c == '-'; };
  const bool is_of_task = take(name, 1, 1, is_dash) && take(name, kLeast, kMost, is_digit) &&
                          take(name, 1, 1, is_dash) &&
                          take(name, kAttemptDigits, kAttemptDigits, is_hex_digit);
  return is_of_task ? name : std::string_view();
}

}  // namespace

bool is_shard_name(std::string_view name) {
  return behind_number(name) == ".ffr";
}

std::optional<int64_t> number_of_shard(std::string_view name) {
  int64_t number = 0;
  const bool is_numbered = is_shard_name(name) && take_text(name, "shard-") &&
                           take_number(name, number) && name.starts_with('.');
  return is_numbered ? std::optional(number) : std::nullopt;
}

std::string task_shard_name(int64_t task, int64_t number, std::string_view attempt) {
  return fmt::format("shard-{:06}-{:05}-{}.ffr", task, number, attempt);
}

std::string report_name(int64_t shard) {
  return fmt::format("shard-{:05}.report.tmp", shard);
}

std::string gather_name(int64_t shard) {
  return fmt::format("shard-{:05}.gather.tmp", shard);
}

std::string group_name(int64_t shard) {
  return fmt::format("shard-{:05}.group.tmp", shard);
}

bool is_temporary_name(std::string_view name) {
  const std::string_view rest = behind_number(name);
  return rest == ".report.tmp" || rest == ".gather.tmp" || rest == ".group.tmp" ||
         rest == ".ffr.tmp" || std::ranges::find(kTemporary, name) != kTemporary.end();
}

bool is_marker_name(std::string_view name) {
  return name == kUnfinishedMarker || ClaimFile::is_claim(fs::path(name));
}

bool is_own_name(std::string_view name) {
  return is_shard_name(name) || is_temporary_name(name) || is_marker_name(name) ||
         name == kManifestFile;
}

bool is_name_in_split(std::string_view name) {
  const bool is_shard =
      (name.starts_with("shard-") || name.starts_with("PART_")) && name.ends_with(".ffr");
  return is_shard || name.ends_with(".tmp") || name == kManifestFile;
}

bool is_name_in_data_set(std::string_view name) {
  return name == kUnfinishedMarker || name == kReportFile || name == kV1MetaFile ||
         name.ends_with(".tmp");
}

}  // namespace ffkit
