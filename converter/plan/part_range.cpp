#include "plan/part_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace ffkit {

std::string PartRange::text() const {
  return fmt::format("{}/{}: {} {} to {} of {}", part.index, part.count, noun(), begin_shard,
                     end_shard - 1, num_shards);
}

std::optional<PartRange> parse_part_range(std::string_view text) {
  std::array<int64_t, 5> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& number : numbers) {
    at = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = behind;
  }
  const auto [index, count, first, last, num_shards] = numbers;
  if (last == std::numeric_limits<int64_t>::max()) return std::nullopt;
  const PartRange range{.part = {.index = index, .count = count},
                        .begin_shard = first,
                        .end_shard = last + 1,
                        .num_shards = num_shards,
                        .are_groups = text.find("groups") != std::string_view::npos};
  // The words between the numbers are the same as well.
  if (range.text() != text) return std::nullopt;
  return range;
}

void note_found_part(const ConvertOptions& options) {
  const ConvertPart& part = options.part;
  if (part.found_by.empty() || !options.note) return;
  options.note(fmt::format("part {} of {}, by {}", part.index, part.count, part.found_by));
}

}  // namespace ffkit
