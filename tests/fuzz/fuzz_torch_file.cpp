// A file of torch.save() of any bytes, of all its forms: tensors that lie within their numbers, or
// an Error.
#include <sys/mman.h>
#include <unistd.h>

#include "files/torch_file.h"
#include "touch.h"

namespace {

// That the storages of a file of 64 KiB may honestly claim.
constexpr size_t kMostBytes = 64U << 20;

void read_file(const std::string& path, const std::string& key) {
  std::map<std::string, std::vector<std::byte>> storages;
  size_t num_bytes = 0;
  const ffkit::StateDict dict =
      ffkit::read_torch_file(ffkit::File::open_for_reading(path), key,
                             [&](const std::string& name, int64_t size) -> std::span<std::byte> {
                               num_bytes += static_cast<size_t>(size);
                               if (size < 0 || num_bytes > kMostBytes) std::abort();
                               std::vector<std::byte>& storage = storages[name];
                               storage.resize(static_cast<size_t>(size));
                               return storage;
                             });
  for (const ffkit::StoredTensor& t : dict.tensors) {
    const std::vector<std::byte>& storage = storages.at(t.storage);
    int64_t last = t.offset;
    bool is_empty = false;
    for (size_t i = 0; i < t.sizes.size(); ++i) {
      is_empty = is_empty || t.sizes[i] == 0;
      last += (t.sizes[i] - 1) * t.strides[i];
    }
    if (is_empty) continue;
    if (t.offset < 0 || (last + 1) * t.type->num_bytes > static_cast<int64_t>(storage.size()))
      std::abort();
    ffkit::fuzzing::touch(storage);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = memfd_create("weights", 0);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  for (const char* key : {"", "model.ema"}) ffkit::fuzzing::attempt([&] { read_file(path, key); });
  close(fd);
  return 0;
}
