// Which NUMA node a process belongs on, and going there. Node and distance tables are read from
// sysfs; libnuma would bring a library for two system calls.
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <ffkit/launch/launch.h>

#include "gpus.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

std::string read_first_line(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

// "0-3,8" -> 0 1 2 3 8; what is no number is left out.
std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    int first = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    int last = first;
    if (error == std::errc() && end != part.data() + part.size() && *end == '-') {
      std::from_chars(end + 1, part.data() + part.size(), last);
    }
    if (error == std::errc()) {
      for (int i = first; i <= last; ++i) out.push_back(i);
    }
    text.remove_prefix(std::min(text.size(), part.size() + 1));
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
