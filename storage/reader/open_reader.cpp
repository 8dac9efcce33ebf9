#include "reader/local_reader.h"
#include "reader/object_reader.h"

namespace ffkit {

std::unique_ptr<RandomReader> open_random_reader(const std::filesystem::path& path,
                                                 const KnownFile& known) {
  if (!is_address(path)) return open_local_reader(path);
  return open_object_reader(path, known, [address = path.native()] {
    return ReadsBy{store_of(address), BlockCache::of_process()};
  });
}

}  // namespace ffkit
