#include "lmdb/lmdb_places.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "converter/input/dangling_link.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/shard_files.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataFile = "data.mdb";
constexpr std::array<std::string_view, 4> kLmdbEndings = {".lmdb", ".mdb", "_lmdb", "-lmdb"};

std::string stem_of_lmdb(std::string name) {
  for (const std::string_view ending : kLmdbEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  }
  return name;
}

bool is_lmdb_name(const std::string& name) {
  return name != "lock.mdb" && (name.ends_with(".mdb") || name.ends_with(".lmdb"));
}

struct NamedLmdb {
  std::string stem;
  fs::path file;
  auto operator<=>(const NamedLmdb&) const = default;
};

NamedLmdb named_file(const fs::path& file) {
  const std::string name = name_of_file(file);
  return {stem_of_lmdb(name == kDataFile ? name_of_file(file.parent_path()) : name), file};
}

std::vector<NamedLmdb> lmdb_files_at(const fs::path& path) {
  refuse_dangling_link(path);
  if (is_brace_list(path)) {
    std::vector<NamedLmdb> found;
    for (const fs::path& file : expand_braces(path)) found.push_back(named_file(file));
    return found;
  }
  if (has_file_at(path)) return {named_file(path)};
  if (has_file_at(path / kDataFile)) {
    // "folder/" is called "folder", too.
    const fs::path folder = path.has_filename() ? path : path.parent_path();
    return {{stem_of_lmdb(name_of_file(folder)), path / kDataFile}};
  }
  if (!is_folder_at(path)) {
    throw source_error(path, ErrorCode::not_found, "there is no such file or folder");
  }
  std::vector<NamedLmdb> found;
  try {
    for (const FolderEntry& entry : FolderEntries(path)) {
      const std::string name = name_of_file(entry.path());
      if (name.starts_with('.')) continue;
      refuse_dangling_link(entry.path());
      if (!entry.is_directory()) {
        if (is_lmdb_name(name)) found.push_back({stem_of_lmdb(name), entry.path()});
      } else if (has_file_at(entry.path() / kDataFile)) {
        found.push_back({stem_of_lmdb(name), entry.path() / kDataFile});
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw source_io_error(path, "cannot be listed", error.code().value());
  }
  std::ranges::sort(found);
  return found;
}

// "bedroom" of LSUN's "bedroom_train".
std::string category_of(std::string_view stem) {
  for (const std::string_view split : {"_train", "_val", "_test"}) {
    if (stem.size() > split.size() && stem.ends_with(split)) {
      return std::string(stem.substr(0, stem.size() - split.size()));
    }
  }
  return {};
}

}  // namespace

std::vector<LmdbPlace> find_lmdb_files(const fs::path& path) {
  const std::vector<NamedLmdb> found = lmdb_files_at(path);
  if (found.empty()) {
    throw source_error(path, ErrorCode::not_found,
                       "holds no LMDB, neither data.mdb nor folders with one nor .mdb files");
  }
  const bool tell = std::ranges::any_of(
      found, [](const NamedLmdb& one) { return !split_in_name(one.stem).empty(); });
  std::vector<LmdbPlace> places;
  places.reserve(found.size());
  for (const NamedLmdb& one : found) {
    std::string split = tell ? split_in_name(one.stem) : "train";
    if (split.empty()) split = stem_without_number(one.stem);
    places.push_back({.file = one.file,
                      .split = split.empty() ? "unnamed" : std::move(split),
                      .category = category_of(one.stem)});
  }
  return places;
}

}  // namespace ffkit
