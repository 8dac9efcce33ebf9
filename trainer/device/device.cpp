#include "device/device.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "launch/gpus.h"

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

// libtorch_cuda.so lies beside libtorch_cpu.so. A machine without the driver is spared its 2 GB.
bool open_torch_cuda() {
  if (count_gpus() == 0) return false;
  // The address of a function in another library may be that of this program's stub for it; an
  // object's is not.
  const void* in_torch = dlsym(RTLD_DEFAULT, "_ZN2at13globalContextEv");
  // Its symbols are for everybody, since libtorch looks its backends up among them.
  const fs::path library = library_folder(in_torch) / "libtorch_cuda.so";
  return dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
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
                "install the wheel of torch with CUDA and build ffkit again, or give " +
                    option_set("dist_backend", "gloo"));
  }
  return *module;
}

namespace {

c10::Device gpu(int index, int num_visible) {
  if (index >= num_visible) {
    throw error_of(ErrorCode::not_found,
                   "GPU {} was asked for, but this process has {} GPU(s); give another {}", index,
                   num_visible, option_name("device"));
  }
  const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
  c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).setDevice(device);
  return device;
}

// A run of days on the CPU is seldom what a machine with a GPU is for.
void say_why_on_cpu(const ProcessPlace& place) {
  if (place.local_rank != 0) return;
  const std::string why = why_no_gpu(process_environment());
  if (why.empty()) return;
  fmt::print(stderr,
             "there seems to be a GPU, but {} Training on the CPU; give --device cpu if you want "
             "this\n",
             why.ends_with('?') ? why : why + '.');
}

void choose_kernels(bool deterministic) {
  // What cuBLAS wants for it, read when it is first used.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  // Where there is no such kernel, libtorch throws (with_torch_errors). With warnings alone it
  // would leave attention as it is, too.
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(!deterministic);
}

}  // namespace

c10::Device prepare_device(const TrainOptions& options, const ProcessPlace& place) {
  choose_kernels(options.deterministic);
  const std::string& name = options.device;
  constexpr std::string_view kNumbered = "cuda:";
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (name == "auto" && !cuda_is_available()) {
    say_why_on_cpu(place);
    return c10::Device(c10::kCPU);
  }
  int index = place.local_rank;
  if (name.starts_with(kNumbered))
    index = number_of_text<int>(std::string_view(name).substr(kNumbered.size())).value_or(-1);
  if (index < 0 || (name != "auto" && name != "cuda" && !name.starts_with(kNumbered))) {
    throw error_of(ErrorCode::invalid_argument,
                   "unknown {} '{}'; expected one of auto, cpu, cuda and cuda:N",
                   option_name("device"), name);
  }
  if (!cuda_is_available()) {
    const std::string why = why_no_gpu(process_environment());
    throw error_of(ErrorCode::not_found, "{} was asked for, but {}; give {}",
                   option_set("device", name), why.empty() ? "libtorch sees no GPU" : why,
                   option_set("device", "cpu"));
  }
  const int num_visible = c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount();
  return gpu(
      name.starts_with(kNumbered) ? index : gpu_of_rank(place, num_visible, process_environment()),
      num_visible);
}

AutocastAs::AutocastAs(c10::DeviceType device, bool on, c10::ScalarType type)
    : device_(device),
      was_on_(at::autocast::is_autocast_enabled(device)),
      old_type_(at::autocast::get_autocast_dtype(device)) {
  set(on, type);
}

void AutocastAs::set(bool on, c10::ScalarType type) const {
  at::autocast::set_autocast_enabled(device_, on);
  at::autocast::set_autocast_dtype(device_, type);
}

Autocast::Autocast(Amp amp, c10::Device device) {
  if (amp == Amp::off) return;
  as_.emplace(device.type(), true, amp == Amp::bf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  // Weights that were cast are kept for the length of the forward pass: the next one sees other
  // weights.
  if (as_ && at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

}  // namespace ffkit
