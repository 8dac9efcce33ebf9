#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "addresses/place.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

fs::path path_of(const std::string& address) {
  return parse_address(address).path;
}

std::string address_of_path(const fs::path& path) {
  return "file://" + path.string();
}

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw io_error_at(path, "the path cannot be examined", errno);
}

ObjectFacts facts_of_file(const struct stat& status) {
  return {status.st_size,
          fmt::format("\"{:x}-{:x}-{:x}\"", status.st_ino,
                      status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec,
                      status.st_size)};
}

// Files that are being written are called so, and in no listing.
constexpr std::string_view kUnfinishedName = ".ffkit-upload-";

// Processes of two machines, or of two containers, may write into one folder under one number.
fs::path unfinished_beside(const fs::path& path) {
  static std::atomic<int> number = 0;
  static const std::string token = [] {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
  }();
  return path.parent_path() / fmt::format("{}{}-{}-{}", kUnfinishedName, getpid(), number++, token);
}

void make_folder_of(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  require_done(error, path.parent_path(), "the folder cannot be created");
}

// Calls `work`; what it says of the file at `address` is said of the address.
template <typename Work>
auto about(const std::string& address, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    ErrorContext context = error.context();
    if (context.path != path_of(address)) throw;
    context.path = address;
    throw Error(error.code(), error.message(), context);
  }
}

class FileUpload : public Upload {
 public:
  explicit FileUpload(fs::path path)
      : path_(std::move(path)),
        unfinished_((make_folder_of(path_), unfinished_beside(path_))),
        file_(File::create(unfinished_)) {}
  ~FileUpload() override {
    if (!is_finished_) unlink(unfinished_.c_str());
  }
  FileUpload(const FileUpload&) = delete;
  FileUpload& operator=(const FileUpload&) = delete;

  void add(std::span<const std::byte> bytes) override { file_.write(bytes); }

  void finish() override {
    file_.sync();
    file_.close();
    rename_durably(unfinished_, path_);
    is_finished_ = true;
  }

  // False: there is such a file already.
  bool finish_if_new() {
    file_.sync();
    file_.close();
    if (link(unfinished_.c_str(), path_.c_str()) != 0) {
      if (errno == EEXIST) return false;
      if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
        throw error_at(path_, ErrorCode::unsupported,
                       "its file system has no hard links ({}), but ffkit needs them to find the "
                       "first of several writers; give a folder on another file system",
                       std::strerror(errno));
      }
      throw io_error_at(path_, "the file cannot be written", errno);
    }
    sync_folder_of(path_);
    return true;
  }

 private:
  const fs::path path_;
  const fs::path unfinished_;
  File file_;
  bool is_finished_ = false;
};

void list_folder(const fs::path& folder, bool recursive, Listing& listing) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return;
  require_done(error, folder, "the folder cannot be listed");
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    const auto status = status_of(path);
    if (!status || path.filename().native().starts_with(kUnfinishedName)) continue;
    if (S_ISREG(status->st_mode)) {
      listing.objects.push_back({address_of_path(path), facts_of_file(*status)});
    } else if (S_ISDIR(status->st_mode)) {
      if (recursive) {
        list_folder(path, true, listing);
      } else {
        listing.folders.push_back(address_of_path(path));
      }
    }
    if (error) break;
  }
  require_done(error, folder, "the folder cannot be listed");
}

class FileStore : public ObjectStore {
 public:
  std::string read_all(const std::string& address, int64_t max_bytes) override {
    return about(address, [&] { return read_whole_text(path_of(address), max_bytes); });
  }

  std::optional<ObjectFacts> find(const std::string& address) override {
    const auto status = about(address, [&] { return status_of(path_of(address)); });
    if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
    return facts_of_file(*status);
  }

  Listing list(const std::string& address, bool recursive) override {
    fs::path folder = path_of(address).lexically_normal();
    if (!folder.has_filename() && folder.has_relative_path()) folder = folder.parent_path();
    Listing listing;
    list_folder(folder, recursive, listing);
    std::ranges::sort(listing.objects, {}, &ListedObject::address);
    std::ranges::sort(listing.folders);
    return listing;
  }

  bool put(const std::string& address, std::span<const std::byte> bytes,
           bool only_if_new) override {
    FileUpload upload(path_of(address));
    upload.add(bytes);
    if (only_if_new) return upload.finish_if_new();
    upload.finish();
    return true;
  }

  std::unique_ptr<Upload> upload(const std::string& address, int64_t /*expected_bytes*/) override {
    return std::make_unique<FileUpload>(path_of(address));
  }

  void remove(const std::string& address) override {
    const fs::path path = path_of(address);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      throw io_error_at(path, "the file cannot be deleted", errno);
    }
  }

  std::vector<UnfinishedUpload> list_uploads(const std::string& address) override {
    std::vector<UnfinishedUpload> uploads;
    std::error_code error;
    const fs::path folder = path_of(address);
    fs::recursive_directory_iterator entries(folder, error);
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
      return uploads;
    }
    require_done(error, folder, "the folder cannot be listed");
    for (; entries != fs::recursive_directory_iterator(); entries.increment(error)) {
      const fs::path& path = entries->path();
      if (!path.filename().native().starts_with(kUnfinishedName)) continue;
      const auto status = status_of(path);
      if (!status || !S_ISREG(status->st_mode)) continue;
      uploads.push_back({.address = address_of_path(path),
                         .id = path.filename().string(),
                         .begun = {},
                         .num_bytes = status->st_size});
    }
    require_done(error, folder, "the folder cannot be listed");
    std::ranges::sort(uploads, {}, &UnfinishedUpload::address);
    return uploads;
  }

  void abort_upload(const UnfinishedUpload& upload) override { remove(upload.address); }

 protected:
  void read_range(RangeOfObject range, Done done) override {
    std::exception_ptr failure;
    try {
      about(range.address, [&] {
        const File file = File::open_for_reading(path_of(range.address));
        struct stat status {};
        if (fstat(file.fd(), &status) != 0)
          throw io_error_at(file.path(), "the file cannot be read", errno);
        const ObjectFacts present = facts_of_file(status);
        if ((!range.known.version.empty() && present.version != range.known.version) ||
            (range.known.num_bytes >= 0 && present.num_bytes != range.known.num_bytes)) {
          throw error_at(file.path(), ErrorCode::corrupt,
                         "the object was changed after it was opened")
              .with_remedy("open the object again");
        }
        if (range.found_version != nullptr) *range.found_version = present.version;
        file.read_at(range.offset, range.into);
      });
    } catch (...) {
      failure = std::current_exception();
    }
    done(failure);
  }
};

}  // namespace

std::shared_ptr<ObjectStore> make_file_store() {
  return std::make_shared<FileStore>();
}

}  // namespace ffkit
