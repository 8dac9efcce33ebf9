#include "device/cuda_module.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/launch/launch.h>

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

namespace {

// True once it is open; its symbols are for everybody, since libtorch looks its backends up among
// them.
bool open_library(const fs::path& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

// libtorch_cuda.so lies beside libtorch_cpu.so. A machine without the driver is spared its 2 GB.
bool open_torch_cuda() {
  if (count_gpus() == 0) return false;
  // The address of a function in another library may be that of this program's stub for it; an
  // object's is not.
  const void* in_torch = dlsym(RTLD_DEFAULT, "_ZN2at13globalContextEv");
  return open_library(library_folder(in_torch) / "libtorch_cuda.so");
}

CudaModule* open_module() {
  if (!cuda_is_available()) return nullptr;
  constexpr char kName[] = "libffkit_trainer_cuda.so";
  void* library = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const fs::path here = library_folder(reinterpret_cast<const void*>(&cuda_module));
    for (const fs::path& folder : {here, here / "../lib", here / "../trainer"}) {
      library = dlopen((folder / kName).c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (library != nullptr) break;
    }
  }
  if (library == nullptr) return nullptr;
  using Get = CudaModule* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, "ffkit_cuda_module"));
  return get == nullptr ? nullptr : get();
}

}  // namespace

bool cuda_is_available() {
  static const bool is_available = open_torch_cuda() && at::globalContext().hasCUDA();
  return is_available;
}

CudaModule* find_cuda_module() {
  static CudaModule* const module = open_module();
  return module;
}

CudaModule& cuda_module() {
  CudaModule* const module = find_cuda_module();
  if (module == nullptr) {
    throw Error(ErrorCode::unsupported,
                "NCCL needs libffkit_trainer_cuda.so, which was not built or cannot be opened; "
                "build where the wheel of torch with CUDA is installed, or give " +
                    option_set("dist_backend", "gloo"));
  }
  return *module;
}

}  // namespace ffkit
