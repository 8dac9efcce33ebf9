#include "reader/local_reader.h"
#include "reader/object_reader.h"

namespace ffkit {

std::unique_ptr<RandomReader> open_random_reader(const std::filesystem::path& path,
                                                 const KnownFile& known) {
  if (!is_address(path)) return open_local_reader(path);
  return open_object_reader(store_of(path.native()), path, known, BlockCache::of_process());
}

}  // namespace ffkit
