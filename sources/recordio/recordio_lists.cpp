#include "recordio/recordio_lists.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "converter/input/input_file.h"
#include "converter/input/source_error.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxRecordIoListBytes = 1LL << 30;

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split_at_tabs(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

// Calls use(line number from 1, columns) for each line that is not empty.
template <typename Use>
void for_each_row_of_list(const std::filesystem::path& path, const Use& use) {
  const std::string text = read_source_text(path, kMaxRecordIoListBytes);
  if (!simdjson::validate_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument, "is no UTF-8 text; take it away");
  }
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) use(number, split_at_tabs(line));
  }
}

}  // namespace

std::vector<std::string> read_recordio_keys(const std::filesystem::path& idx,
                                            std::span<const RecordIoEntry> records) {
  std::vector<std::string> keys(records.size());
  std::vector<bool> has_key(records.size());
  size_t num_keys = 0;
  for_each_row_of_list(idx, [&](int64_t number, std::span<const std::string_view> columns) {
    const auto offset = columns.size() == 2 ? number_in<int64_t>(columns[1]) : std::nullopt;
    if (!offset) {
      throw source_error(idx, ErrorCode::invalid_argument,
                         "line {} is no key and offset, with a tab between; take the file away, or "
                         "make it again with MXNet's tools/rec2idx.py",
                         number);
    }
    const auto record = std::ranges::lower_bound(
        records, *offset, {}, [](const RecordIoEntry& entry) { return entry.range.offset; });
    const auto i = static_cast<size_t>(record - records.begin());
    if (record == records.end() || record->range.offset != *offset || has_key[i]) {
      throw source_error(idx, ErrorCode::invalid_argument,
                         "line {} says that record '{}' begins at byte {}, where {}; take the file "
                         "away, or make it again with MXNet's tools/rec2idx.py",
                         number, columns[0], *offset,
                         record != records.end() && record->range.offset == *offset
                             ? "another line has one"
                             : "none begins in the .rec");
    }
    has_key[i] = true;
    keys[i] = std::string(columns[0]);
    ++num_keys;
  });
  if (num_keys != records.size()) {
    throw source_error(
        idx, ErrorCode::invalid_argument,
        "names {} of the {} records in the .rec; take the file away, or make it again "
        "with MXNet's tools/rec2idx.py",
        num_keys, records.size());
  }
  return keys;
}

std::map<uint64_t, ListedPicture> read_picture_list(const std::filesystem::path& lst) {
  std::map<uint64_t, ListedPicture> list;
  for_each_row_of_list(lst, [&](int64_t number, std::span<const std::string_view> columns) {
    const auto id = columns.size() >= 3 ? number_in<uint64_t>(columns[0]) : std::nullopt;
    ListedPicture picture;
    bool is_line = id.has_value();
    for (size_t i = 1; is_line && i + 1 < columns.size(); ++i) {
      const auto label = number_in<float>(columns[i]);
      is_line = label.has_value();
      picture.labels.push_back(label.value_or(0));
    }
    if (!is_line) {
      throw source_error(lst, ErrorCode::invalid_argument,
                         "line {} is not an id, labels and a name with tabs between; take the file "
                         "away",
                         number);
    }
    picture.name = std::string(columns.back());
    if (!list.emplace(*id, std::move(picture)).second) {
      throw source_error(lst, ErrorCode::invalid_argument,
                         "line {} has the id {}, as a line before it; take the file away", number,
                         *id);
    }
  });
  return list;
}

std::vector<std::string> names_of_records(const std::map<uint64_t, ListedPicture>& list,
                                          std::span<const RecordIoEntry> records,
                                          std::string& why_not) {
  std::vector<std::string> names;
  names.reserve(records.size());
  for (const RecordIoEntry& record : records) {
    const auto found = list.find(record.id);
    if (found == list.end()) {
      why_not = fmt::format("has no line for the id {}", record.id);
      return {};
    }
    const std::vector<float>& labels = found->second.labels;
    const bool is_same = record.flag > 1 ? labels.size() == record.flag
                                         : labels.size() == 1 && labels[0] == record.label;
    if (!is_same) {
      why_not = fmt::format("has other labels for the id {} than its record", record.id);
      return {};
    }
    names.push_back(found->second.name);
  }
  return names;
}

}  // namespace ffkit
