#include "places/place.h"

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/fnv.h"
#include "base/make_error.h"
#include "storage/addresses/address.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Files of a folder that a store is asked for one by one before the folder is listed.
constexpr int kFoundAlone = 4;

std::string without_slashes(const fs::path& address) {
  std::string text = address.native();
  while (text.ends_with('/') && !text.ends_with("://")) text.pop_back();
  return text;
}

PlacedObject placed(const ObjectFacts& facts) {
  return {.num_bytes = facts.num_bytes, .version = version_number(facts.version)};
}

// What a folder of a store holds.
struct ListedFolder {
  std::map<std::string, PlacedObject> objects;  // by address
  std::shared_ptr<const std::vector<FolderEntry>> entries;
};
using FolderPointer = std::shared_ptr<const ListedFolder>;

FolderPointer list_folder_of_store(const std::string& folder) {
  Listing listing;
  try {
    listing = store_of(folder)->list(folder, /*recursive=*/false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(ErrorCode::unsupported,
                "is no file of the web server, and a web server has no lists of its files, so it "
                "cannot be read as a folder",
                {.path = shown_address(folder),
                 .subject = ErrorSubject::source,
                 .remedy = "check the name of the file, or copy the folder to a store or a disk "
                           "and give that"});
  }
  auto found = std::make_shared<ListedFolder>();
  auto entries = std::make_shared<std::vector<FolderEntry>>();
  entries->reserve(listing.objects.size() + listing.folders.size());
  for (const ListedObject& object : listing.objects) {
    entries->emplace_back(object.address, /*is_folder=*/false);
    found->objects.emplace(object.address, placed(object.facts));
  }
  for (const std::string& below : listing.folders) {
    entries->emplace_back(below, /*is_folder=*/true);
  }
  found->entries = std::move(entries);
  return found;
}

// What is kept while a PlacesListed is.
class Memory {
 public:
  static Memory& of_process() {
    static auto* const memory = new Memory;  // threads may still ask when the process ends
    return *memory;
  }

  void begin() {
    const std::scoped_lock lock(mutex_);
    ++num_users_;
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    if (--num_users_ > 0) return;
    folders_.clear();
    num_alone_.clear();
  }

  FolderPointer folder(const std::string& address) {
    std::promise<FolderPointer> promise;
    {
      std::unique_lock lock(mutex_);
      if (num_users_ == 0) {
        lock.unlock();
        return list_folder_of_store(address);
      }
      const auto [found, is_new] = folders_.try_emplace(address);
      if (!is_new) {
        const std::shared_future<FolderPointer> answer = found->second;
        lock.unlock();
        return answer.get();
      }
      found->second = promise.get_future().share();
    }
    try {
      FolderPointer listed = list_folder_of_store(address);
      promise.set_value(listed);
      return listed;
    } catch (...) {
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  // The folder, if it is known or has been asked often enough for files of its own.
  // Null, too, where the files may be read and the folder may not be listed.
  FolderPointer folder_for_file(const std::string& address) {
    {
      const std::scoped_lock lock(mutex_);
      if (num_users_ == 0) return nullptr;
      if (!folders_.contains(address) && ++num_alone_[address] <= kFoundAlone) return nullptr;
    }
    try {
      return folder(address);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::invalid_argument) return nullptr;
      throw;
    }
  }

 private:
  std::mutex mutex_;
  int num_users_ = 0;
  std::map<std::string, std::shared_future<FolderPointer>> folders_;
  std::map<std::string, int> num_alone_;
};

bool has_lists(const fs::path& address) {
  const Scheme scheme = parse_address(address.native()).scheme;
  return scheme != Scheme::https && scheme != Scheme::http;
}

}  // namespace

int64_t version_number(const std::string& version) {
  std::string_view text = version;
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  if (text.empty()) return 0;
  return static_cast<int64_t>(fnv1a64(std::as_bytes(std::span(text))) >> 1);
}

FolderEntries::FolderEntries(const fs::path& folder) {
  if (is_address(folder)) {
    begin_.objects_ = Memory::of_process().folder(without_slashes(folder))->entries;
  } else {
    begin_.local_ = fs::directory_iterator(folder);
  }
  begin_.load();
}

FolderEntries::FolderEntries(const fs::path& folder, std::error_code& error) {
  error.clear();
  if (is_address(folder)) {
    begin_.objects_ = Memory::of_process().folder(without_slashes(folder))->entries;
  } else {
    begin_.local_ = fs::directory_iterator(folder, error);
  }
  begin_.load();
}

FolderEntries::Iterator& FolderEntries::Iterator::operator++() {
  if (objects_ == nullptr) {
    ++local_;
  } else {
    ++next_;
  }
  load();
  return *this;
}

void FolderEntries::Iterator::load() {
  if (*this == std::default_sentinel) return;
  entry_ = objects_ == nullptr ? FolderEntry(*local_) : (*objects_)[next_];
}

std::optional<PlacedObject> object_at(const fs::path& address) {
  const std::string name = without_slashes(address);
  if (has_lists(name)) {
    const FolderPointer folder =
        Memory::of_process().folder_for_file(fs::path(name).parent_path().native());
    if (folder != nullptr) {
      const auto found = folder->objects.find(name);
      if (found == folder->objects.end()) return std::nullopt;
      return found->second;
    }
  }
  const std::optional<ObjectFacts> facts = store_of(name)->find(name);
  if (!facts) return std::nullopt;
  return placed(*facts);
}

bool exists_at(const fs::path& path) {
  if (!is_address(path)) return fs::exists(path);
  return object_at(path).has_value() || is_folder_at(path);
}

bool exists_at(const fs::path& path, std::error_code& error) {
  if (!is_address(path)) return fs::exists(path, error);
  error.clear();
  return exists_at(path);
}

bool is_folder_at(const fs::path& path, std::error_code& error) {
  if (!is_address(path)) return fs::is_directory(path, error);
  error.clear();
  return is_folder_at(path);
}

bool is_folder_at(const fs::path& path) {
  if (!is_address(path)) return fs::is_directory(path);
  if (!has_lists(path) && object_at(path)) return false;
  try {
    return !Memory::of_process().folder(without_slashes(path))->entries->empty();
  } catch (const Error& error) {
    // Whoever may not list can still name a file.
    if (error.code() == ErrorCode::invalid_argument && has_file_at(path)) return false;
    throw;
  }
}

bool has_file_at(const fs::path& path) {
  if (!is_address(path)) return fs::exists(path) && !fs::is_directory(path);
  try {
    return object_at(path).has_value();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return false;
    throw;
  }
}

std::optional<fs::path> file_beside(const fs::path& file, const std::string& name) {
  if (shown_place(file) != file.native()) return std::nullopt;
  fs::path other = file.parent_path() / name;
  if (!has_file_at(other)) return std::nullopt;
  return other;
}

std::vector<fs::path> objects_below(const fs::path& folder) {
  const std::string name = without_slashes(folder);
  const Listing listing = store_of(name)->list(name, /*recursive=*/true);
  std::vector<fs::path> found;
  found.reserve(listing.objects.size());
  for (const ListedObject& object : listing.objects) found.emplace_back(object.address);
  return found;
}

std::string shown_place(const fs::path& path) {
  const std::string& text = path.native();
  const bool has_query = text.starts_with("https://") || text.starts_with("http://");
  return has_query && is_address(path) ? text.substr(0, text.find('?')) : text;
}

std::string name_of_file(const fs::path& path) {
  return fs::path(shown_place(path)).filename().string();
}

std::vector<fs::path> root_if_folder(const fs::path& path) {
  if (is_address(path) || fs::is_directory(path)) return {path};
  return {};
}

std::string absolute_name(const fs::path& path) {
  if (!is_address(path)) return fs::absolute(path).string();
  return without_slashes(shown_place(path));
}

fs::path canonical_place(const fs::path& path) {
  return is_address(path) ? fs::path(without_slashes(path)) : fs::canonical(path);
}

PlacesListed::PlacesListed() {
  Memory::of_process().begin();
}

PlacesListed::~PlacesListed() {
  Memory::of_process().end();
}

}  // namespace ffkit
