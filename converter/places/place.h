// What sources ask of places: files and folders by their paths, or by addresses of a store. It is
// answered alike, so that a source lists a bucket as it lists a disk.
//
// A store is asked for a folder once while a PlacesListed is: sources ask for the same folders and
// for many files of them. All functions are thread-safe. What a store says is thrown as its Error;
// what a disk says as std::filesystem says it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <ffkit/base/error.h>

#include "converter/places/read_ahead.h"
#include "storage/addresses/place.h"

namespace ffkit {

// An object as its folder's list has it, or as its store says.
struct PlacedObject {
  int64_t num_bytes = 0;
  int64_t version = 0;  // a number made of the store's version (ETag); 0: the store has none
};

// The number of a store's version, from 0 on. Whether an ETag is weak, or has quotation marks, does
// not count: some stores write it so in lists and otherwise elsewhere.
int64_t version_number(const std::string& version);

// One of a folder's files and folders, as std::filesystem::directory_entry.
class FolderEntry {
 public:
  FolderEntry() = default;
  explicit FolderEntry(std::filesystem::directory_entry entry) : entry_(std::move(entry)) {}
  FolderEntry(std::filesystem::path address, bool is_folder)
      : address_(std::move(address)), is_folder_(is_folder) {}

  const std::filesystem::path& path() const { return address_.empty() ? entry_.path() : address_; }
  bool is_directory() const { return address_.empty() ? entry_.is_directory() : is_folder_; }
  bool is_directory(std::error_code& error) const {
    error.clear();
    return address_.empty() ? entry_.is_directory(error) : is_folder_;
  }

 private:
  std::filesystem::directory_entry entry_;
  std::filesystem::path address_;  // empty: of a disk
  bool is_folder_ = false;
};

// What is directly in a folder, in no order; nothing where a store has no such folder. Throws
// std::filesystem::filesystem_error for a folder of a disk that cannot be listed, unless `error` is
// given; Error(unsupported) for a folder of a web server, which has no lists.
class FolderEntries {
 public:
  explicit FolderEntries(const Place& folder);
  FolderEntries(const Place& folder, std::error_code& error);

  class Iterator {
   public:
    const FolderEntry& operator*() const { return entry_; }
    const FolderEntry* operator->() const { return &entry_; }
    Iterator& operator++();
    bool operator==(std::default_sentinel_t) const {
      return objects_ == nullptr ? local_ == std::filesystem::directory_iterator()
                                 : next_ == objects_->size();
    }

   private:
    friend class FolderEntries;
    void load();

    std::filesystem::directory_iterator local_;
    std::shared_ptr<const std::vector<FolderEntry>> objects_;  // null: of a disk
    size_t next_ = 0;
    FolderEntry entry_;
  };
  Iterator begin() const { return begin_; }
  std::default_sentinel_t end() const { return {}; }

 private:
  Iterator begin_;
};

// Whether there is such a file or folder; such a folder. Of a web server, whose folders have no
// lists: such a file, and Error(unsupported), which says so, where there is none.
bool exists_at(const Place& place);
bool is_folder_at(const Place& place);
// The same; `error` takes what a disk says.
bool exists_at(const Place& place, std::error_code& error);
bool is_folder_at(const Place& place, std::error_code& error);
// Whether there is such a file, which need not be there. False, too, where a store may not be asked
// for it, as S3 says of what is not there to a reader who may not list.
bool has_file_at(const Place& place);
// The file `name` in the folder of `file`; nothing where there is none. Beside an address with a
// query, which may be the signature of one file alone, nothing is looked for.
std::optional<std::filesystem::path> file_beside(const Place& file, const std::string& name);

// An object; nothing where there is none.
std::optional<PlacedObject> object_at(const Place& place);

// The addresses of all objects below a folder, whatever their depth, sorted.
std::vector<std::filesystem::path> objects_below(const Place& folder);

// For messages: the path, or the address without its query, which may be a signature.
std::string shown_place(const Place& place);
// The last name of a path or an address, without a query.
std::string name_of_file(const Place& place);
// The path where it is a folder, as Source::roots() gives it; of an address it is not known.
std::vector<std::filesystem::path> root_if_folder(const Place& place);

// An error of a folder that a store was asked for, as file://, told by the folder's path.
Error told_by_path(const Error& error);

// For manifests: the absolute path, or the address without its query, which may be a
// signature, and without a slash at its end.
std::string absolute_name(const Place& place);
// std::filesystem::canonical(), or the address without a slash at its end.
std::filesystem::path canonical_place(const Place& place);

// While one is, folders of stores are listed once, and what was found in them is kept. What was
// read ahead meanwhile is forgotten at its end.
class PlacesListed {
 public:
  PlacesListed();
  ~PlacesListed();
  PlacesListed(const PlacesListed&) = delete;
  PlacesListed& operator=(const PlacesListed&) = delete;

 private:
  const read_ahead::Scope read_ahead_;
};

}  // namespace ffkit
