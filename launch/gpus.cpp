#include "gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/make_error.h"
#include "base/number_text.h"
#include "launchers.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr char kVisibleVariable[] = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view kNumbered = "cuda:";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (fs::directory_iterator it(folder, none), end; !none && it != end; it.increment(none))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Those of the whole machine, or of the container.
std::vector<std::string> all_gpus(const fs::path& root) {
  std::vector<std::string> all = names_in(root / "proc/driver/nvidia/gpus");
  if (!all.empty()) return all;
  // Some containers do not have the driver's folder; the devices are what CUDA needs.
  constexpr std::string_view kDevice = "nvidia";
  for (const std::string& name : names_in(root / "dev")) {
    if (name.starts_with(kDevice) && number_of_text<size_t>(name.substr(kDevice.size())))
      all.emplace_back();
  }
  return all;
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(list)};
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

bool is_gpu_on_the_bus(const fs::path& root) {
  const fs::path devices = root / "sys/bus/pci/devices";
  return std::ranges::any_of(names_in(devices), [&](const std::string& name) {
    std::string vendor, kind;
    std::ifstream(devices / name / "vendor") >> vendor;
    std::ifstream(devices / name / "class") >> kind;
    return vendor == "0x10de" && kind.starts_with("0x03");
  });
}

bool can_open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY);
  if (library == nullptr) return false;
  dlclose(library);
  return true;
}

}  // namespace

std::vector<std::string> gpu_addresses(const Environment& environment, const fs::path& root) {
  const std::vector<std::string> all = all_gpus(root);
  const std::optional<std::string> visible = environment(kVisibleVariable);
  if (!visible) return all;
  std::vector<std::string> chosen;
  for (const std::string& part : parts_of(*visible)) {
    const std::optional<size_t> number = number_of_text<size_t>(part);
    // As CUDA: what follows an unknown number does not count. A name such as GPU-5f0c... is one of
    // the GPUs, whichever.
    if (part == "-1" || (number && *number >= all.size())) break;
    chosen.push_back(number ? all[*number] : "");
  }
  return chosen;
}

std::string why_no_gpu(const Environment& environment, const fs::path& root) {
  const std::optional<std::string> visible = environment(kVisibleVariable);
  if (visible && (visible->empty() || visible->starts_with("-1"))) return {};
  const bool is_known = !all_gpus(root).empty();
  if (!is_known && !visible && !is_gpu_on_the_bus(root)) return {};
  if (!is_known) {
    return "/proc/driver/nvidia/gpus and /dev/nvidia0 do not exist; load the driver, or start the "
           "container with its GPUs";
  }
  if (visible && gpu_addresses(environment, root).empty())
    return fmt::format("{} is '{}', but there is no such GPU here", kVisibleVariable, *visible);
  if (!can_open_driver())
    return "libcuda.so.1, the library of the driver, cannot be opened; install the driver";
  return "libtorch cannot use it; check for a libtorch for CUDA and a new enough driver";
}

int gpu_of_rank(const ProcessPlace& place, int num_visible, const Environment& environment,
                const fs::path& root) {
  if (place.local_rank < num_visible) return place.local_rank;
  // Schedulers show each of their tasks its own GPU, by the variable or by hiding the other
  // devices. Processes that fftrain or torchrun's agent started see all the same, unless something
  // between set the variable.
  const bool is_own = environment(kVisibleVariable).has_value() ||
                      (place.launcher != Launcher::torchrun && all_gpus(root).size() > 1);
  const bool is_started = environment(kStartedVariable).has_value();
  if (num_visible == 1 && is_own && !is_started) return 0;
  throw error_of(ErrorCode::not_found,
                 "there is no GPU for process {} of {} on this machine, because the process sees "
                 "only {} GPU{}; start fewer processes on this machine, or give --device",
                 place.local_rank + 1, place.local_world_size, num_visible,
                 num_visible == 1 ? "" : "s");
}

int count_gpus(const Environment& environment) {
  return int(gpu_addresses(environment).size());
}

Environment environment_seeing(const std::string& device, Environment environment) {
  std::optional<std::string> seen;
  if (device == "cpu") seen = "";
  const std::string index = device.starts_with(kNumbered) ? device.substr(kNumbered.size()) : "";
  if (const std::optional<size_t> number = number_of_text<size_t>(index)) {
    seen = index;
    if (const std::optional<std::string> visible = environment(kVisibleVariable)) {
      const std::vector<std::string> parts = parts_of(*visible);
      seen = *number < parts.size() ? parts[*number] : "";
    }
  }
  if (!seen) return environment;
  return [seen, environment = std::move(environment)](const char* name) {
    return std::string_view(name) == kVisibleVariable ? seen : environment(name);
  };
}

namespace {

// Which NUMA node a process belongs on, and going there. Node and distance tables are read from
// sysfs; libnuma would bring a library for two system calls.

std::string read_first_line(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

// "0-3,8" -> 0 1 2 3 8; what is no number is left out.
std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> out;
  for (const std::string& part : parts_of(text)) {
    int first = 0;
    const char* const behind = part.data() + part.size();
    const auto [end, error] = std::from_chars(part.data(), behind, first);
    int last = first;
    if (error == std::errc() && end != behind && *end == '-')
      std::from_chars(end + 1, behind, last);
    for (int i = first; error == std::errc() && i <= last; ++i) out.push_back(i);
  }
  return out;
}

// -1: not known.
int node_of_gpu(const std::string& address) {
  if (address.empty()) return -1;
  const std::string text =
      read_first_line(fs::path("/sys/bus/pci/devices") / address / "numa_node");
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

}  // namespace

void bind_to_numa_node(const ProcessPlace& place, const Environment& environment) {
  const fs::path nodes = "/sys/devices/system/node";
  const std::vector<int> online = parse_cpu_list(read_first_line(nodes / "has_cpu"));
  if (online.size() < 2) return;
  const std::vector<std::string> gpus = gpu_addresses(environment);
  const auto local_rank = size_t(place.local_rank);
  int node = -1;
  if (gpus.size() == 1 || local_rank < gpus.size())
    node = node_of_gpu(gpus[std::min(local_rank, gpus.size() - 1)]);
  if (node < 0) {
    // One process may use all of the machine; several share its nodes evenly.
    if (place.local_world_size < 2) return;
    node = online[local_rank * online.size() / size_t(place.local_world_size) % online.size()];
  }
  cpu_set_t allowed, wanted;
  CPU_ZERO(&wanted);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (const int cpu :
       parse_cpu_list(read_first_line(nodes / fmt::format("node{}", node) / "cpulist"))) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &wanted);
  }
  // Whoever started this process knows better when it left none of them.
  if (CPU_COUNT(&wanted) == 0 || sched_setaffinity(0, sizeof(wanted), &wanted) != 0) return;
  std::array<unsigned long, 16> mask{};
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  if (size_t(node) >= mask.size() * kBits) return;
  mask[size_t(node) / kBits] = 1UL << (size_t(node) % kBits);
  // Preferred, not bound: a full node is no reason to be killed.
  syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), mask.size() * kBits);
}

}  // namespace ffkit
