#include "places/place.h"

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "base/fnv.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Files of a folder that a store is asked for one by one before the folder is listed.
constexpr int kFoundAlone = 4;

std::string without_slashes(const Place& place) {
  std::string text = place.address();
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
                "the web server has no such file, and it cannot be read as a folder, because a web "
                "server does not list its files",
                {.path = shown_address(folder),
                 .subject = ErrorSubject::source,
                 .remedy = "check the name of the file, or copy the folder to a store or a disk "
                           "and give the copy"});
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

bool has_lists(const Place& place) {
  const std::string& address = place.address();
  return !address.starts_with("https://") && !address.starts_with("http://");
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

FolderEntries::FolderEntries(const Place& folder) {
  if (folder.is_in_store()) {
    begin_.objects_ = Memory::of_process().folder(without_slashes(folder))->entries;
  } else {
    begin_.local_ = fs::directory_iterator(folder.path());
  }
  begin_.load();
}

FolderEntries::FolderEntries(const Place& folder, std::error_code& error) {
  error.clear();
  if (folder.is_in_store()) {
    begin_.objects_ = Memory::of_process().folder(without_slashes(folder))->entries;
  } else {
    begin_.local_ = fs::directory_iterator(folder.path(), error);
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

std::optional<PlacedObject> object_at(const Place& place) {
  const std::string name = without_slashes(place);
  if (has_lists(place)) {
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

bool exists_at(const Place& place) {
  if (!place.is_in_store()) return fs::exists(place.path());
  return object_at(place).has_value() || is_folder_at(place);
}

bool exists_at(const Place& place, std::error_code& error) {
  if (!place.is_in_store()) return fs::exists(place.path(), error);
  error.clear();
  return exists_at(place);
}

bool is_folder_at(const Place& place, std::error_code& error) {
  if (!place.is_in_store()) return fs::is_directory(place.path(), error);
  error.clear();
  return is_folder_at(place);
}

bool is_folder_at(const Place& place) {
  if (!place.is_in_store()) return fs::is_directory(place.path());
  if (!has_lists(place) && object_at(place)) return false;
  try {
    return !Memory::of_process().folder(without_slashes(place))->entries->empty();
  } catch (const Error& error) {
    // Whoever may not list can still name a file.
    if (error.code() == ErrorCode::invalid_argument && has_file_at(place)) return false;
    throw;
  }
}

bool has_file_at(const Place& place) {
  if (!place.is_in_store()) return fs::exists(place.path()) && !fs::is_directory(place.path());
  try {
    return object_at(place).has_value();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return false;
    throw;
  }
}

std::optional<fs::path> file_beside(const Place& file, const std::string& name) {
  if (shown_place(file) != file.path().native()) return std::nullopt;
  fs::path other = file.path().parent_path() / name;
  if (!are_opened_alike(file, other) || !has_file_at(other)) return std::nullopt;
  return other;
}

std::vector<fs::path> objects_below(const Place& folder) {
  const std::string name = without_slashes(folder);
  const Listing listing = store_of(name)->list(name, /*recursive=*/true);
  std::vector<fs::path> found;
  found.reserve(listing.objects.size());
  for (const ListedObject& object : listing.objects) found.emplace_back(object.address);
  return found;
}

std::string shown_place(const Place& place) {
  const std::string& text = place.path().native();
  const bool may_have_query = place.is_in_store() && !has_lists(place);
  return may_have_query ? text.substr(0, text.find('?')) : text;
}

std::string name_of_file(const Place& place) {
  return fs::path(shown_place(place)).filename().string();
}

std::vector<fs::path> root_if_folder(const Place& place) {
  if (place.is_in_store() || fs::is_directory(place.path())) return {place.path()};
  return {};
}

Error told_by_path(const Error& error) {
  ErrorContext context = error.context();
  const Place place(context.path);
  if (!place.is_in_store() || !place.is_on_disk()) return error;
  context.path = place.shown();
  return {error.code(), error.message(), context};
}

std::string absolute_name(const Place& place) {
  if (!place.is_in_store()) return fs::absolute(place.path()).string();
  return without_marks(without_slashes(shown_place(place)));
}

fs::path canonical_place(const Place& place) {
  return place.is_in_store() ? fs::path(without_slashes(place)) : fs::canonical(place.path());
}

PlacesListed::PlacesListed() {
  Memory::of_process().begin();
}

PlacesListed::~PlacesListed() {
  Memory::of_process().end();
}

}  // namespace ffkit
