// Slurm's compressed host lists: a comma-separated list of names, each with any number of [..] of
// numbers and ranges of one width.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include <ffkit/launch/launch.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kMaxHosts = 1 << 20;

[[noreturn]] void refuse_host_list(std::string_view list) {
  throw error_of(ErrorCode::invalid_argument,
                 "'{}' is no list of hosts as Slurm writes it, such as node[01-03,7],gpu1", list);
}

// The next part of `rest` before a comma outside of brackets; takes it off.
std::string_view take_part(std::string_view list, std::string_view& rest) {
  bool in_brackets = false;
  size_t end = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (c == '[' || c == ']') {
      if (in_brackets == (c == '[')) refuse_host_list(list);
      in_brackets = c == '[';
    } else if (c == ',' && !in_brackets) {
      break;
    }
  }
  if (in_brackets || end == 0) refuse_host_list(list);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!rest.empty()) {
    rest.remove_prefix(1);
    if (rest.empty()) refuse_host_list(list);
  }
  return part;
}

uint64_t parse_host_number(std::string_view list, std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) refuse_host_list(list);
  return number;
}

// "08-10" -> 08, 09, 10
void expand_range(std::string_view list, std::string_view range, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const uint64_t begin = parse_host_number(list, first);
  const uint64_t end = parse_host_number(list, last);
  if (end < begin || end - begin >= kMaxHosts) refuse_host_list(list);
  for (uint64_t i = begin; i <= end; ++i) out.push_back(fmt::format("{:0{}}", i, first.size()));
}

std::vector<std::string> expand(std::string_view list, std::string_view part) {
  const size_t open = part.find('[');
  if (open == std::string_view::npos) return {std::string(part)};
  const size_t close = part.find(']', open);
  std::vector<std::string> numbers;
  std::string_view ranges = part.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    const size_t comma = ranges.find(',');
    expand_range(list, ranges.substr(0, comma), numbers);
    ranges.remove_prefix(comma == std::string_view::npos ? ranges.size() : comma + 1);
  }
  std::vector<std::string> hosts;
  const std::vector<std::string> tails = close + 1 == part.size()
                                             ? std::vector<std::string>{""}
                                             : expand(list, part.substr(close + 1));
  if (numbers.empty() || numbers.size() * tails.size() > kMaxHosts) refuse_host_list(list);
  for (const std::string& number : numbers) {
    for (const std::string& tail : tails)
      hosts.push_back(std::string(part.substr(0, open)) + number + tail);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> parse_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  std::string_view rest = list;
  do {
    for (std::string& host : expand(list, take_part(list, rest))) hosts.push_back(std::move(host));
  } while (!rest.empty() && hosts.size() <= kMaxHosts);
  if (hosts.size() > kMaxHosts) refuse_host_list(list);
  return hosts;
}

}  // namespace ffkit
