#include "rows/index_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <ffkit/base/crc32c.h>

#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/input/split_name.h"
#include "converter/places/place.h"

namespace ffkit {

namespace fs = std::filesystem;

Error IndexValue::error(ErrorCode code, const std::string& message) const {
  return source_error(*file_, code, "{}{}{}", where_, where_.empty() ? "" : " ", message);
}

std::optional<IndexValue> IndexValue::find(const char* key) const {
  simdjson::dom::object object;
  if (value_.get_object().get(object) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "is no object; write the index again");
  }
  simdjson::dom::element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return IndexValue(found, *file_, where_.empty() ? key : where_ + "." + key);
}

IndexValue IndexValue::at(const char* key) const {
  if (auto found = find(key)) return *std::move(found);
  throw error(ErrorCode::corrupt, fmt::format("has no '{}'; write the index again", key));
}

std::string IndexValue::text() const {
  std::string_view text;
  if (value_.get_string().get(text) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "is no text; write the index again");
  }
  return std::string(text);
}

int64_t IndexValue::count() const {
  int64_t number = 0;
  if (value_.get_int64().get(number) != simdjson::SUCCESS || number < 0) {
    throw error(ErrorCode::corrupt, "is no whole number from 0 on; write the index again");
  }
  return number;
}

std::vector<std::pair<std::string, std::string>> IndexValue::texts() const {
  simdjson::dom::object object;
  if (value_.get_object().get(object) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "is no object; write the index again");
  }
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : object) {
    const std::string name(key);
    texts.emplace_back(name, IndexValue(value, *file_, where_ + '.' + name).text());
  }
  return texts;
}

std::vector<IndexValue> IndexValue::list() const {
  simdjson::dom::array array;
  if (value_.get_array().get(array) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "is no list; write the index again");
  }
  std::vector<IndexValue> values;
  values.reserve(array.size());
  for (const simdjson::dom::element item : array) {
    values.emplace_back(item, *file_, fmt::format("{}[{}]", where_, values.size()));
  }
  return values;
}

fs::path IndexValue::relative_path() const {
  fs::path path = text();
  const bool leads_out =
      path.empty() || path.is_absolute() ||
      std::ranges::any_of(path, [](const fs::path& name) { return name == ".."; });
  if (leads_out) {
    throw error(ErrorCode::unsupported,
                fmt::format("is '{}', and no name of a file below the folder; copy the file there, "
                            "and write its name into the index",
                            path.string()));
  }
  return path;
}

IndexFile::IndexFile(const fs::path& folder) : path_(folder / "index.json") {
  constexpr int64_t kMaxIndexBytes = int64_t{1} << 30;
  const std::vector<std::byte> bytes = read_source_bytes(path_, kMaxIndexBytes);
  num_bytes_ = std::ssize(bytes);
  crc32c_ = crc32c(bytes);
  if (bytes.empty()) {
    throw source_error(path_, ErrorCode::corrupt, "is empty; copy or write it again");
  }
  simdjson::dom::element value;
  const auto status =
      parser_.parse(reinterpret_cast<const char*>(bytes.data()), bytes.size()).get(value);
  if (status == simdjson::MEMALLOC) throw std::bad_alloc();
  if (status != simdjson::SUCCESS) {
    throw source_error(path_, ErrorCode::corrupt, "is no JSON: {}; copy or write it again",
                       simdjson::error_message(status));
  }
  root_.emplace(value, path_, "");
}

SourceInput IndexFile::input(std::string name) const {
  return {.name = std::move(name), .num_bytes = num_bytes_, .crc32c = crc32c_};
}

std::vector<IndexedFolder> find_indexed_folders(const fs::path& path, const char* writer,
                                                std::vector<std::string>& notes) {
  const bool is_one = has_file_at(path / "index.json");
  if (!is_one && !is_folder_at(path)) {
    throw source_error(path, ErrorCode::not_found,
                       "is no folder; give the one in which {} has written index.json", writer);
  }
  std::map<std::string, std::vector<fs::path>> found;  // by the split's name
  bool is_any_named = false;                           // as splits are
  try {
    for (const FolderEntry& entry : FolderEntries(path)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.') || !entry.is_directory()) continue;
      if (!has_file_at(entry.path() / "index.json")) continue;
      const std::string split = split_called(name);
      is_any_named = is_any_named || !split.empty();
      found[split.empty() ? name : split].push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw source_io_error(path, "cannot be listed", error.code().value());
  } catch (const Error& error) {
    // A web server lists no folders, some stores not to everybody, and the index is enough.
    const bool is_refused =
        error.code() == ErrorCode::unsupported || error.code() == ErrorCode::invalid_argument;
    if (!is_one || !is_refused) throw;
  }
  if (is_one) {
    std::vector<std::string> names;
    for (const auto& [split, folders] : found) {
      for (const fs::path& folder : folders) names.push_back(folder.filename().string());
    }
    notes.push_back(
        fmt::format("{}: all that index.json lists is the split 'train'", shown_place(path)));
    if (!names.empty()) {
      notes.push_back(fmt::format(
          "{}: the folders '{}' have an index.json of their own, which was not read; where they "
          "are splits, convert each by itself, or move the index.json above them away",
          shown_place(path), fmt::join(names, "', '")));
    }
    return {{.split = "train", .is_training = true, .folder = path}};
  }
  std::vector<IndexedFolder> folders;
  for (const auto& [split, places] : found) {
    if (places.size() > 1) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "the folders '{}' and '{}' would both be the split '{}'; rename one",
                         places[0].filename().string(), places[1].filename().string(), split);
    }
    folders.push_back(
        {.split = split, .is_training = split.starts_with("train"), .folder = places[0]});
  }
  if (folders.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "there is no index.json in it, nor in its folders; give the folder in which "
                       "{} has written one, or let it merge those of its workers",
                       writer);
  }
  if (!is_any_named) {
    std::vector<std::string> names;
    names.reserve(folders.size());
    for (const IndexedFolder& folder : folders) names.push_back(folder.split);
    notes.push_back(fmt::format(
        "{}: the folders '{}' become splits of these names; where they are parts of one split, let "
        "{} merge their indexes first",
        shown_place(path), fmt::join(names, "', '"), writer));
  }
  std::ranges::stable_sort(folders, std::greater<>(), &IndexedFolder::is_training);
  return folders;
}

}  // namespace ffkit
