#include "base/machine/per_process.h"
#include "reader/local_reader.h"
#include "reader/object_reader.h"

namespace ffkit {
namespace {

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

std::unique_ptr<RandomReader> open_random_reader(const std::filesystem::path& path,
                                                 const KnownFile& known) {
  if (!is_address(path)) return open_local_reader(path);
  return std::make_unique<ProcessReader>(path, known);
}

}  // namespace ffkit
