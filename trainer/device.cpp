#include "device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include <ffkit/format/error.h>

#include "cuda_module.h"

namespace ffkit {
namespace {

c10::Device gpu(int index) {
  const c10::impl::VirtualGuardImpl gpus(c10::DeviceType::CUDA);
  const int count = gpus.deviceCount();
  if (index >= count) {
    throw Error(ErrorCode::not_found,
                fmt::format("GPU {} was asked for, but this process sees {}; start fewer processes "
                            "on this machine, or give --device",
                            index, count));
  }
  const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
  gpus.setDevice(device);
  return device;
}

void choose_kernels(bool deterministic) {
  // What cuBLAS wants for it, read when it is first used.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  // Where there is no such kernel, libtorch says so once and goes on.
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(!deterministic);
}

}  // namespace

c10::Device prepare_device(const TrainOptions& options, const ProcessPlace& place) {
  choose_kernels(options.deterministic);
  const std::string& name = options.device;
  constexpr std::string_view kNumbered = "cuda:";
  if (name == "cpu" || (name == "auto" && !cuda_is_available())) return c10::Device(c10::kCPU);
  int index = place.local_rank;
  if (name.starts_with(kNumbered)) {
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + kNumbered.size(), end, index).ptr != end || index < 0 ||
        name.size() == kNumbered.size()) {
      index = -1;
    }
  }
  if (index < 0 || (name != "auto" && name != "cuda" && !name.starts_with(kNumbered))) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("there is no --device '{}'; there are auto, cpu, cuda and cuda:N", name));
  }
  if (!cuda_is_available()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("--device {} was asked for, but libtorch sees no GPU; give --device cpu",
                    name));
  }
  // A launcher may show each process its own GPU alone.
  const c10::impl::VirtualGuardImpl gpus(c10::DeviceType::CUDA);
  return gpu(gpus.deviceCount() == 1 && !name.starts_with(kNumbered) ? 0 : index);
}

}  // namespace ffkit
