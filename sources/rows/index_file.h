// IndexFile: the index.json that MosaicML's and LitData's writers put beside their files.
//
//   folder/index.json                      one split, 'train'
//   folder/train/index.json, val/...       splits by their folders' names
//
// Thread-compatible: values point into the IndexFile that they come from.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>

#include "base/make_error.h"

namespace ffkit {

// One value in a JSON file. What is not as asked for is Error(corrupt) with the file and the
// place in it, "shards[3].samples".
class IndexValue {
 public:
  IndexValue(simdjson::dom::element value, const std::filesystem::path& file, std::string where)
      : value_(value), file_(&file), where_(std::move(where)) {}

  // The member `key`.
  [[nodiscard]] IndexValue at(const char* key) const;
  // Nothing where the member is absent or null.
  [[nodiscard]] std::optional<IndexValue> find(const char* key) const;
  [[nodiscard]] bool is_null() const { return value_.is_null(); }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] int64_t count() const;  // >= 0
  [[nodiscard]] std::vector<IndexValue> list() const;
  // Texts by their keys.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> texts() const;
  // A name of a file below the folder; throws Error(unsupported) for one that leads out of it.
  [[nodiscard]] std::filesystem::path relative_path() const;
  // Error(code) about this value: "<file>: <where> <message>".
  [[nodiscard]] Error error(ErrorCode code, const std::string& message) const;

 private:
  simdjson::dom::element value_;
  const std::filesystem::path* file_;
  std::string where_;
};

class IndexFile {
 public:
  // Reads `folder`/index.json, of 1 GiB at most. Throws as read_source_bytes(), Error(corrupt) for
  // what is no JSON.
  explicit IndexFile(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  // Lives as long as the IndexFile, which stays where it is.
  const IndexValue& root() const { return *root_; }
  // The file, as it was read. `name`: what it is called in the data set.
  SourceInput input(std::string name) const;

 private:
  std::filesystem::path path_;
  int64_t num_bytes_ = 0;
  uint32_t crc32c_ = 0;
  simdjson::dom::parser parser_;
  std::optional<IndexValue> root_;
};

struct IndexedFolder {
  std::string split;
  bool is_training = false;
  std::filesystem::path folder;
};

// `path` itself, where it has an index.json, else its folders that have one; training splits first.
// Notes say what was left out. Throws Error(not_found) when there are none. `writer`: whose files
// they are, for messages.
std::vector<IndexedFolder> find_indexed_folders(const std::filesystem::path& path,
                                                const char* writer,
                                                std::vector<std::string>& notes);

}  // namespace ffkit
