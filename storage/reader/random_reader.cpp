#include "reader/random_reader.h"

#include <fcntl.h>

#include <ffkit/base/error.h>

#include "base/file/file.h"
#include "base/machine/per_process.h"
#include "cache/block_cache.h"
#include "stores/object_store.h"

namespace ffkit {
namespace {

// A local file.
class LocalReader final : public RandomReader {
 public:
  explicit LocalReader(File file) : file_(std::move(file)) {}

  const std::filesystem::path& path() const noexcept override { return file_.path(); }
  int64_t size() const override { return file_.size(); }
  void read_at(int64_t offset, std::span<std::byte> out, int64_t record) const override {
    file_.read_at(offset, out, record);
  }
  void announce(int64_t offset, int64_t num_bytes) const noexcept override {
    static_cast<void>(::posix_fadvise(file_.fd(), offset, num_bytes, POSIX_FADV_WILLNEED));
  }
  int descriptor() const noexcept override { return file_.fd(); }
  void read(int64_t offset, std::span<std::byte> out, Done done) const override {
    std::exception_ptr error;
    try {
      file_.read_at(offset, out);
    } catch (...) {
      error = std::current_exception();
    }
    done(std::move(error));
  }

 private:
  File file_;
};

// An object, read by this process's own store and cache.
class ProcessReader final : public RandomReader {
 public:
  ProcessReader(const std::filesystem::path& address, const KnownFile& known)
      : path_(address), reader_([address, known](const ObjectReader* before) {
          KnownFile what = known;
          if (before != nullptr) {
            what.num_bytes = before->size();
            what.version = before->version_if_known();
          }
          return open_object_reader(store_of(address.native()), address, what,
                                    BlockCache::of_process());
        }) {}

  const std::filesystem::path& path() const noexcept override { return path_; }
  int64_t size() const override { return reader_.get().size(); }
  int descriptor() const noexcept override { return -1; }
  void announce(int64_t offset, int64_t num_bytes) const noexcept override {
    try {
      reader_.get().announce(offset, num_bytes);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The read says what is wrong.
    }
  }
  int descriptor_of(int64_t offset, int64_t num_bytes) const override {
    return reader_.get().descriptor_of(offset, num_bytes);
  }
  bool drop_damaged_copy(int64_t offset, int64_t num_bytes) const override {
    return reader_.get().drop_damaged_copy(offset, num_bytes);
  }
  bool is_coming(int64_t offset, int64_t num_bytes) const override {
    return reader_.get().is_coming(offset, num_bytes);
  }
  void read_at(int64_t offset, std::span<std::byte> out, int64_t record) const override {
    reader_.get().read_at(offset, out, record);
  }
  void read(int64_t offset, std::span<std::byte> out, Done done) const override {
    reader_.get().read(offset, out, std::move(done));
  }

 private:
  const std::filesystem::path path_;
  const PerProcess<ObjectReader> reader_;
};

}  // namespace

std::unique_ptr<RandomReader> open_random_reader(const Place& place, const KnownFile& known) {
  if (place.is_in_store()) return std::make_unique<ProcessReader>(place.path(), known);
  return std::make_unique<LocalReader>(File::open_for_reading(place.path()));
}

std::string read_text_at(const Place& place, int64_t max_bytes) {
  if (!place.is_in_store()) return read_whole_text(place.path(), max_bytes);
  std::string text = store_of(place.address())->read_all(place.address(), max_bytes);
  if (text.starts_with("\x1f\x8b")) {
    throw Error(ErrorCode::corrupt, "is compressed by gzip",
                {.path = place.shown(), .remedy = "store it without Content-Encoding"});
  }
  return text;
}

bool has_object(const Place& place) {
  try {
    return store_of(place.address())->find(place.address()).has_value();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return false;
    throw;
  }
}

NamesIn names_in_folder(const Place& folder) {
  NamesIn names;
  Listing listing;
  try {
    listing = store_of(folder.address())->list(folder.address(), /*recursive=*/false);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return names;
    throw;
  }
  const auto name_of = [](const std::string& object) {
    return object.substr(object.find_last_of('/') + 1);
  };
  for (const ListedObject& object : listing.objects) {
    names.files.push_back(name_of(object.address));
  }
  for (const std::string& below : listing.folders) names.folders.push_back(name_of(below));
  return names;
}

}  // namespace ffkit
