#include "rows/indexed_rows.h"

#include <cstring>
#include <map>
#include <set>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "converter/input/cancel.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/file_window.h"
#include "numbers/json_tables.h"

namespace ffkit {

Error IndexValue::error(ErrorCode code, const std::string& message) const {
  return source_error(*file_, code, "{} {}",
                      where_.empty() ? std::string("the index") : "'" + where_ + "'", message);
}

simdjson::dom::object IndexValue::members() const {
  simdjson::dom::object object;
  if (value_.get_object().get(object) == simdjson::SUCCESS) return object;
  throw error(ErrorCode::corrupt, "must be a JSON object; write the index again");
}

std::optional<IndexValue> IndexValue::find(const char* key) const {
  simdjson::dom::element found;
  if (members().at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return IndexValue(found, *file_, where_.empty() ? key : where_ + "." + key);
}

IndexValue IndexValue::at(const char* key) const {
  if (auto found = find(key)) return *std::move(found);
  throw error(ErrorCode::corrupt, fmt::format("has no member '{}'; write the index again", key));
}

std::string IndexValue::text() const {
  std::string_view text;
  if (value_.get_string().get(text) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "must be text; write the index again");
  }
  return std::string(text);
}

int64_t IndexValue::count() const {
  int64_t number = 0;
  if (value_.get_int64().get(number) != simdjson::SUCCESS || number < 0) {
    throw error(ErrorCode::corrupt, "must be a whole number of 0 or more; write the index again");
  }
  return number;
}

std::vector<std::pair<std::string, std::string>> IndexValue::texts() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : members()) {
    const std::string name(key);
    texts.emplace_back(name, IndexValue(value, *file_, where_ + '.' + name).text());
  }
  return texts;
}

std::vector<IndexValue> IndexValue::list() const {
  simdjson::dom::array array;
  if (value_.get_array().get(array) != simdjson::SUCCESS) {
    throw error(ErrorCode::corrupt, "must be a list; write the index again");
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
                fmt::format("is '{}', but must be the name of a file in the folder of the index; "
                            "copy the file into this folder, and write its name into the index",
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
    throw source_error(path_, ErrorCode::corrupt, "the index is empty; copy or write it again");
  }
  simdjson::dom::element value;
  const auto status =
      parser_.parse(reinterpret_cast<const char*>(bytes.data()), bytes.size()).get(value);
  if (status == simdjson::MEMALLOC) throw std::bad_alloc();
  if (status != simdjson::SUCCESS) {
    throw source_error(
        path_, ErrorCode::corrupt, "the index is not valid JSON: {}; copy or write it again",
        json_problem({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, status));
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
                       "this path is not a folder; give the folder in which {} wrote index.json",
                       writer);
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
    add_note(notes, shown_place(path), "all samples of index.json become the split 'train'");
    if (!names.empty()) {
      add_note(notes, shown_place(path),
               "the folders '{}' have their own index.json, which was not read; if they are "
               "splits, convert each one separately, or move away the index.json above them",
               fmt::join(names, "', '"));
    }
    return {{.split = "train", .is_training = true, .folder = path}};
  }
  std::vector<IndexedFolder> folders;
  for (const auto& [split, places] : found) {
    if (places.size() > 1) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "the folders '{}' and '{}' would both become the split '{}'; rename one "
                         "of the two folders",
                         places[0].filename().string(), places[1].filename().string(), split);
    }
    folders.push_back(
        {.split = split, .is_training = split.starts_with("train"), .folder = places[0]});
  }
  if (folders.empty()) {
    throw source_error(
        path, ErrorCode::not_found,
        "neither the folder nor a folder in it has an index.json; give the folder with the "
        "index.json of {}, or first merge the indexes that its workers wrote",
        writer);
  }
  if (!is_any_named) {
    std::vector<std::string> names;
    names.reserve(folders.size());
    for (const IndexedFolder& folder : folders) names.push_back(folder.split);
    add_note(notes, shown_place(path),
             "the folders '{}' become splits with these names; if they are parts of one split, let "
             "{} merge their indexes first",
             fmt::join(names, "', '"), writer);
  }
  std::ranges::stable_sort(folders, std::greater<>(), &IndexedFolder::is_training);
  return folders;
}

namespace {

// Of files that are there: where, and whether compressed.
struct FoundFiles {
  std::vector<fs::path> paths;
  std::vector<FileStamp> stamps;
  std::vector<bool> are_compressed;
};

FoundFiles find_files(const fs::path& folder, const std::vector<const IndexedFile*>& files) {
  FoundFiles found;
  std::string first_missing;
  size_t num_missing = 0;
  for (const IndexedFile* file : files) {
    const bool is_compressed = file->compressed.has_value() && !has_file_at(file->path);
    const fs::path& path = is_compressed ? *file->compressed : file->path;
    std::error_code missing;
    const FileStamp stamp = stamp_of(path, missing);
    if (missing) {
      if (num_missing++ == 0) first_missing = name_below(folder, path);
      continue;
    }
    if (is_compressed && !file->refused_compression.empty()) {
      throw source_error(path, ErrorCode::unsupported, "{}", file->refused_compression);
    }
    found.paths.push_back(path);
    found.stamps.push_back(stamp);
    found.are_compressed.push_back(is_compressed);
  }
  if (num_missing > 0) {
    throw source_error(folder, ErrorCode::not_found,
                       "{} of the {} files that index.json lists are missing, for example '{}'; "
                       "copy the missing files too",
                       num_missing, files.size(), first_missing);
  }
  return found;
}

// Those that have rows. One that is listed twice counts once: `notes` say so.
std::vector<const IndexedFile*> files_with_rows(const std::vector<IndexedFile>& files,
                                                const fs::path& index,
                                                std::vector<std::string>& notes) {
  std::vector<const IndexedFile*> with_rows;
  std::set<fs::path> seen;
  std::set<std::string> twice;
  for (const IndexedFile& file : files) {
    if (file.num_rows == 0) continue;
    if (seen.insert(fs::weakly_canonical(file.path)).second) {
      with_rows.push_back(&file);
    } else {
      twice.insert(file.path.filename().string());
    }
  }
  if (!twice.empty()) {
    add_note(notes, shown_place(index), "lists {} more than once; {} read once",
             fmt::join(twice, ", "), twice.size() == 1 ? "it is" : "they are");
  }
  return with_rows;
}

}  // namespace

FilesOfSplit listed_files(const IndexedFolder& folder, const std::vector<IndexedFile>& files,
                          std::vector<std::string>& notes) {
  const auto with_rows = files_with_rows(files, folder.folder, notes);
  const FoundFiles found = find_files(folder.folder, with_rows);
  return listed_split(folder.split, folder.is_training, found.paths, found.stamps);
}

IndexedRows::IndexedRows(std::string kind, const fs::path& path, const RowOptions& options)
    : FileRows(std::move(kind), path, options) {}

void IndexedRows::check_hashes(size_t split, size_t file, const IndexedFile& indexed) const {
  const ReadBytes read = [&](int64_t offset, std::span<std::byte> out) {
    throw_if_cancelled(options().cancel);
    will_read_file(split, file, offset + std::ssize(out), std::ssize(out));
    read_file(split, file, offset, out);
  };
  for (const auto& [algorithm, expected] : indexed.hashes) {
    const std::optional<std::string> found = hash_of_file(algorithm, file_bytes(split, file), read);
    if (found && *found != expected) {
      throw error_of(ErrorCode::corrupt,
                     "the file has the {} {}, but index.json says {}; copy the file again",
                     algorithm, *found, expected);
    }
  }
}

std::vector<SourceInput> IndexedRows::inputs(size_t split) const {
  std::vector<SourceInput> inputs = FileRows::inputs(split);
  inputs.push_back(indexes_.at(split));
  return inputs;
}

void IndexedRows::add_indexed_split(const IndexedFolder& folder, const IndexFile& index,
                                    const std::vector<IndexedFile>& files) {
  const auto with_rows = files_with_rows(files, index.path(), notes_);
  if (with_rows.empty()) {
    throw source_error(index.path(), ErrorCode::not_found,
                       "the index lists no samples; give a folder with samples");
  }
  const auto num_empty = std::ranges::count(files, int64_t{0}, &IndexedFile::num_rows);
  if (num_empty > 0) {
    note("split '{}': {} of {} files have no samples in index.json", folder.split, num_empty,
         files.size());
  }
  FoundFiles found = find_files(folder.folder, with_rows);
  const std::vector<bool> are_compressed = std::move(found.are_compressed);
  const size_t split = add_split(folder.split, folder.is_training,
                                 FileGroup(std::move(found.paths), std::move(found.stamps)),
                                 [&](size_t file, const InputFile& opened) {
                                   return find_stream(opened, are_compressed[file]);
                                 });
  indexes_.push_back(index.input(name_below(path(), index.path())));

  std::vector<std::vector<FileRange>> tables(with_rows.size());
  parallel_io_that_throws(with_rows.size(), [&](size_t i) {
    try {
      throw_if_cancelled(options().cancel);
      const IndexedFile& file = *with_rows[i];
      const int64_t num_bytes = file_bytes(split, i);
      if (file.num_bytes >= 0 && num_bytes != file.num_bytes) {
        throw error_of(ErrorCode::corrupt,
                       "the file has {} bytes, but index.json says {} bytes; copy the file again",
                       num_bytes, file.num_bytes);
      }
      if (options().check_hashes) check_hashes(split, i, file);
      tables[i] = read_table(split, i);
      if (std::ssize(tables[i]) < file.num_rows) {
        throw error_of(
            ErrorCode::corrupt,
            "the file has {} samples, but index.json says {} samples; copy both files again",
            tables[i].size(), file.num_rows);
      }
    } catch (const Error& error) {
      throw error.within({.path = this->files(split).paths()[i].string()})
          .with_subject(ErrorSubject::source);
    }
  });
  int64_t num_left_out = 0;
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto num_rows = static_cast<size_t>(with_rows[i]->num_rows);
    num_left_out += static_cast<int64_t>(tables[i].size() - num_rows);
    add_rows(split, std::span(tables[i]).first(num_rows));
  }
  if (num_left_out > 0) {
    note(
        "split '{}': {} samples are left out: they are in its files, but index.json does not count "
        "them",
        folder.split, num_left_out);
  }
}

void IndexedRows::refuse(const std::vector<RefusedColumn>& columns, const RowOptions& options) {
  for (const RefusedColumn& column : columns) {
    const bool is_wanted =
        options.columns.empty() ||
        std::ranges::find(options.columns, column.name) != options.columns.end() ||
        column.name == options.image_column || column.name == options.label_column ||
        column.name == options.id_column;
    if (is_wanted) {
      throw source_error(
          path(), ErrorCode::unsupported,
          "the column '{}' {}; to leave out this column, list the other columns with {}",
          column.name, column.reason, option_name("columns"));
    }
    note("ffkit leaves out the column '{}', because this column {}", column.name, column.reason);
  }
}

std::optional<FileRange> IndexedRows::find_stream(const InputFile& opened,
                                                  bool is_compressed) const {
  if (!is_compressed) return std::nullopt;
  return FileRange{.offset = 0, .num_bytes = opened.size()};
}

std::vector<FileRange> IndexedRows::read_table(size_t split, size_t file) {
  const int64_t end = file_bytes(split, file);
  const std::vector<std::byte> table = offsets_of(split, file, end);
  return ranges_of(table, 4 + std::ssize(table), end);
}

std::vector<std::byte> IndexedRows::offsets_of(size_t split, size_t file, int64_t end) const {
  uint32_t num_rows = 0;
  if (end < 4)
    throw error_of(ErrorCode::corrupt,
                   "the file has only {} bytes, so it has no table of samples; copy the file again",
                   end);
  read_file(split, file, 0, std::as_writable_bytes(std::span(&num_rows, 1)));
  const int64_t table_bytes = 4 * (int64_t{num_rows} + 1);
  if (table_bytes > end - 4) {
    throw error_of(ErrorCode::corrupt,
                   "the file is cut short, or is not a file of samples: it has {} bytes, too few "
                   "for a table of {} samples",
                   end, num_rows);
  }
  std::vector<std::byte> table(static_cast<size_t>(table_bytes));
  read_file(split, file, 4, table);
  return table;
}

std::vector<FileRange> IndexedRows::ranges_of(std::span<const std::byte> table, int64_t first,
                                              int64_t end) {
  constexpr int64_t kWrap = int64_t{1} << 32;
  // Writers let offsets in larger files begin at 0 again. They ascend, so nothing is lost by it.
  int64_t wrapped = 0;
  const auto offset_at = [&](size_t i, int64_t before) {
    uint32_t low = 0;
    std::memcpy(&low, table.data() + 4 * i, sizeof(low));
    if (end >= kWrap && wrapped + low < before) wrapped += kWrap;
    return wrapped + low;
  };
  std::vector<FileRange> ranges(table.size() / 4 - 1);
  int64_t begin = offset_at(0, 0);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t next = offset_at(i + 1, begin);
    if (begin < first || next < begin || next > end) {
      throw error_of(ErrorCode::corrupt,
                     "sample {} begins at byte {} and ends at byte {}, but samples must lie one "
                     "after another between the bytes {} and {}; copy the file again",
                     i, begin, next, first, end);
    }
    ranges[i] = {.offset = begin, .num_bytes = next - begin};
    begin = next;
  }
  const int64_t last = ranges.empty() ? first : ranges.back().offset + ranges.back().num_bytes;
  if (last != end) {
    throw error_of(
        ErrorCode::corrupt,
        "the file has {} bytes after its last sample, so it may be cut short; copy the file again",
        end - last);
  }
  return ranges;
}

}  // namespace ffkit
