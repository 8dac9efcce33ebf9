#include "output/own_names.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <ffkit/format/dataset.h>

#include "format/file/claim_file.h"

namespace ffkit {
namespace {

constexpr std::array<std::string_view, 6> kTemporary = {"gathered.tmp",     "manifest.json.tmp",
                                                        "report.jsonl.tmp", "meta.pkl.tmp",
                                                        "before.tmp",       "after.tmp"};

// What is behind "shard-00012"; empty for other names.
std::string_view behind_number(std::string_view name) {
  constexpr std::string_view kShard = "shard-";
  constexpr size_t kLeastDigits = 5;
  if (!name.starts_with(kShard)) return {};
  name.remove_prefix(kShard.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto end = std::ranges::find_if_not(name, is_digit);
  const auto num_digits = static_cast<size_t>(end - name.begin());
  return num_digits < kLeastDigits ? std::string_view() : name.substr(num_digits);
}

}  // namespace

bool is_shard_name(std::string_view name) {
  return behind_number(name) == ".ffr";
}

bool is_temporary_name(std::string_view name) {
  const std::string_view rest = behind_number(name);
  return rest == ".report.tmp" || rest == ".gather.tmp" || rest == ".ffr.tmp" ||
         std::ranges::find(kTemporary, name) != kTemporary.end();
}

bool is_marker_name(std::string_view name) {
  return name == kUnfinishedMarker || ClaimFile::is_claim(std::filesystem::path(name));
}

}  // namespace ffkit
