// RandomReader of a local file.
#include "reader/local_reader.h"

#include <fcntl.h>

#include "base/file/file.h"

namespace ffkit {
namespace {

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

}  // namespace

std::unique_ptr<RandomReader> open_local_reader(const std::filesystem::path& path) {
  return std::make_unique<LocalReader>(File::open_for_reading(path));
}

}  // namespace ffkit
