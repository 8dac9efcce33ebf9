#include "device/library_folder.h"

#include <dlfcn.h>
#include <link.h>

namespace ffkit {

namespace fs = std::filesystem;

fs::path library_folder(const void* symbol) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(symbol, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return {};
  // The program itself has no name there. dli_fname is its argv[0], a bare word for what the shell
  // found through PATH.
  if (map != nullptr && map->l_name != nullptr && *map->l_name == '\0')
    return fs::read_symlink("/proc/self/exe").parent_path();
  return info.dli_fname == nullptr ? fs::path() : fs::absolute(info.dli_fname).parent_path();
}

}  // namespace ffkit
