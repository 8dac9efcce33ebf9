#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/make_error.h"
#include "base/printable.h"
#include "input/input_file.h"
#include "input/source_error.h"
#include "places/place.h"
#include "plan/chosen_source.h"
#include "plan/listing.h"

namespace ffkit {
namespace {

// The lines of a file, without their ends and without those that are empty.
std::vector<std::string> lines_of(std::string_view text, IdList& list) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
    list.notes.push_back(
        fmt::format("{}: begins with a byte order mark, which is left out", list.name));
  }
  std::vector<std::string> lines;
  int64_t num_returns = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      ++num_returns;
    }
    if (!line.empty()) lines.emplace_back(line);
  }
  if (num_returns > 0) {
    list.notes.push_back(
        fmt::format("{}: {} with \\r\\n; the \\r is no part of the ids", list.name,
                    num_returns == 1 ? "1 line ends" : fmt::format("{} lines end", num_returns)));
  }
  return lines;
}

std::vector<std::string> ids_in_file(const std::filesystem::path& path, IdList& list) {
  constexpr int64_t kMaxBytes = 1LL << 30;
  const std::string text = read_source_text(path, kMaxBytes);
  if (!is_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "is no UTF-8 text; it must have one id on each line");
  }
  return lines_of(text, list);
}

void sort_ids(IdList& list) {
  std::ranges::sort(list.ids);
  std::vector<std::string_view> repeated;
  for (size_t i = 1; i < list.ids.size(); ++i) {
    if (list.ids[i] != list.ids[i - 1]) continue;
    if (repeated.empty() || repeated.back() != list.ids[i]) repeated.emplace_back(list.ids[i]);
  }
  if (!repeated.empty()) {
    list.notes.push_back(fmt::format(
        "{}: {} more than once, and {}: {}", list.name,
        repeated.size() == 1 ? "1 id is there" : fmt::format("{} ids are there", repeated.size()),
        repeated.size() == 1 ? "counts once" : "count once", some_ids(repeated)));
  }
  list.ids.erase(std::unique(list.ids.begin(), list.ids.end()), list.ids.end());
}

}  // namespace

std::string IdList::summary() const {
  PlanHash hash;
  for (const std::string& id : ids) hash.add(id);
  return fmt::format("{} {}, {}", ids.size(), ids.size() == 1 ? "id" : "ids", hash.digits());
}

std::optional<size_t> IdList::find(std::string_view id) const {
  const auto found = std::ranges::lower_bound(ids, id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return static_cast<size_t>(found - ids.begin());
}

std::optional<IdList> read_id_list(const ConvertOptions& options) {
  if (options.only.empty() && !options.only_ids) return std::nullopt;
  IdList list{.name = options.only_ids ? "the ids given" : shown_place(options.only)};
  list.ids = options.only_ids ? *options.only_ids : ids_in_file(options.only, list);
  if (list.ids.empty()) {
    throw argument_error("only", list.name + ": there are no ids; name one sample at least");
  }
  sort_ids(list);
  return list;
}

std::string some_ids(std::span<const std::string_view> ids) {
  constexpr size_t kMaxNamed = 3;
  constexpr size_t kMaxBytes = 100;
  std::string text;
  for (size_t i = 0; i < std::min(ids.size(), kMaxNamed); ++i) {
    const bool is_long = ids[i].size() > kMaxBytes;
    text += fmt::format("{}'{}{}'", i == 0 ? "" : ", ", printable(ids[i].substr(0, kMaxBytes)),
                        is_long ? "..." : "");
  }
  if (ids.size() > kMaxNamed) text += fmt::format(" and {} more", ids.size() - kMaxNamed);
  return text;
}

}  // namespace ffkit
