#include "reader/places.h"

#include <ffkit/base/error.h>

#include "base/file/file.h"
#include "stores/object_store.h"

namespace ffkit {

std::string read_text_at(const std::filesystem::path& path, int64_t max_bytes) {
  if (!is_address(path)) return read_whole_text(path, max_bytes);
  return store_of(path.native())->read_all(path.native(), max_bytes);
}

bool has_object(const std::filesystem::path& address) {
  try {
    return store_of(address.native())->find(address.native()).has_value();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) return false;
    throw;
  }
}

NamesIn names_in_folder(const std::filesystem::path& address) {
  NamesIn names;
  Listing listing;
  try {
    listing = store_of(address.native())->list(address.native(), /*recursive=*/false);
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
  for (const std::string& folder : listing.folders) names.folders.push_back(name_of(folder));
  return names;
}

}  // namespace ffkit
