#include "groups/files_there.h"

#include <system_error>

#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {

namespace fs = std::filesystem;

std::map<std::string, int64_t> files_there(const fs::path& folder) {
  std::map<std::string, int64_t> files;
  if (Place(folder).is_in_store()) {
    for (const ListedObject& object :
         store_of(folder.native())->list(folder.native(), /*recursive=*/false).objects) {
      files[fs::path(object.address).filename()] = object.facts.num_bytes;
    }
    return files;
  }
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code gone;  // a temporary file of an attempt that ends
    const auto size = entry.file_size(gone);
    if (!gone) files[entry.path().filename()] = static_cast<int64_t>(size);
  }
  return files;
}

}  // namespace ffkit
