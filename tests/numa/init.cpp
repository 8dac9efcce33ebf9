// The first process of a virtual machine of two NUMA nodes: binds processes as fftrain does and
// says whether each, and its decoding threads, came to run, and to have its memory, where it
// should. tests/numa/run starts it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <ffkit/launch/launch.h>

#include "loader/decode/decode_pool.h"

namespace {

namespace fs = std::filesystem;

std::string allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::string out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out += fmt::format("{}{}", out.empty() ? "" : ",", cpu);
  }
  return out;
}

// Of memory touched now; -1 when its pages are on several.
int node_of_new_memory() {
  constexpr size_t kBytes = 16 << 20;
  constexpr size_t kPage = 4096;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, kBytes);
  int node = -1;
  for (size_t at = 0; at < kBytes; at += kPage) {
    int of_page = -1;
    ::syscall(SYS_get_mempolicy, &of_page, nullptr, 0, static_cast<char*>(memory) + at,
              MPOL_F_NODE | MPOL_F_ADDR);
    if (at > 0 && of_page != node) return -1;
    node = of_page;
  }
  return node;
}

// What `work` says in a process of its own.
std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string found = work();
    const bool is_written = ::write(ends[1], found.data(), found.size()) == ssize_t(found.size());
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  char buffer[200];
  const ssize_t size = ::read(ends[0], buffer, sizeof(buffer));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return {buffer, size > 0 ? size_t(size) : 0};
}

struct Case {
  const char* what;
  ffkit::ProcessPlace place;
  const char* visible_gpus;  // CUDA_VISIBLE_DEVICES; null when it is not set
  int cpus_allowed;          // the first so many, by whoever started it; 0: all
  const char* expected;
};

// 1 when it is wrong.
int judge(const char* what, const std::string& found, const std::string& expected) {
  const bool is_right = found.starts_with(expected);
  fmt::print("numa: {}: {}: {}{}\n", is_right ? "ok" : "FAILED", what, found,
             is_right ? "" : fmt::format(", expected {}", expected));
  return is_right ? 0 : 1;
}

int run_cases(const std::vector<Case>& cases) {
  int num_failed = 0;
  for (const Case& c : cases) {
    const std::string found = in_child([&c] {
      if (c.cpus_allowed > 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (int cpu = 0; cpu < c.cpus_allowed; ++cpu) CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
      }
      ffkit::bind_to_numa_node(c.place, [&c](const char* name) -> std::optional<std::string> {
        if (std::string_view(name) != "CUDA_VISIBLE_DEVICES" || c.visible_gpus == nullptr)
          return {};
        return c.visible_gpus;
      });
      return fmt::format("cpus {}, memory {}", allowed_cpus(), node_of_new_memory());
    });
    // Of memory nothing is expected where no node was chosen.
    num_failed += judge(c.what, found, c.expected);
  }
  return num_failed;
}

ffkit::ProcessPlace place(int local_rank, int local_world_size) {
  ffkit::ProcessPlace out;
  out.local_rank = local_rank;
  out.local_world_size = local_world_size;
  return out;
}

// Which processors two decoding threads of this process may use: "2 threads, cpus 2,3".
std::string decoding_threads() {
  struct Client final : ffkit::DecodeArena::Client {
    bool has_work() const override { return num_left > 0; }
    void work(std::unique_lock<std::mutex>& lock) override {
      --num_left;
      lock.unlock();
      const std::string cpus = allowed_cpus();
      ::usleep(1000);  // so that the other thread comes too
      lock.lock();
      found.insert(cpus);
      threads.insert(::gettid());
      --num_unfinished;
    }
    int num_left = 200;
    int num_unfinished = 200;
    std::set<std::string> found;
    std::set<pid_t> threads;
  } client;
  ffkit::DecodeArena& arena = ffkit::DecodeArena::of_process();
  arena.add(client, 2);
  std::unique_lock lock(arena.mutex());
  arena.wake(lock, 200);
  for (bool is_done = false; !is_done;) {
    ::usleep(1000);
    lock.lock();
    is_done = client.num_unfinished == 0;
    lock.unlock();
  }
  return fmt::format("{} threads, cpus {}, and no others", client.threads.size(),
                     fmt::join(client.found, " and "));
}

// Addresses of the devices behind the bridges of node 0 and node 1, which play the GPUs.
std::vector<std::string> devices() {
  std::vector<std::string> out(2);
  for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices")) {
    int node = -1;
    std::string device_class;
    std::ifstream(entry.path() / "numa_node") >> node;
    std::ifstream(entry.path() / "class") >> device_class;
    const bool is_network = device_class.starts_with("0x02");
    if (is_network && (node == 0 || node == 1)) out[size_t(node)] = entry.path().filename();
  }
  return out;
}

int run_decoding_threads() {
  const auto bound = [](int local_rank) {
    return in_child([local_rank] {
      ffkit::bind_to_numa_node(place(local_rank, 2),
                               [](const char*) { return std::optional<std::string>(); });
      return decoding_threads();
    });
  };
  return judge("decoding threads of one process", in_child(decoding_threads),
               "2 threads, cpus 0,1,2,3, and no others") +
         judge("decoding threads of the first of two", bound(0),
               "2 threads, cpus 0,1, and no others") +
         judge("decoding threads of the second of two", bound(1),
               "2 threads, cpus 2,3, and no others");
}

int run() {
  int num_failed = run_cases({
      {"one process may use all of the machine", place(0, 1), nullptr, 0, "cpus 0,1,2,3"},
      {"first of two", place(0, 2), nullptr, 0, "cpus 0,1, memory 0"},
      {"second of two", place(1, 2), nullptr, 0, "cpus 2,3, memory 1"},
      {"second of four", place(1, 4), nullptr, 0, "cpus 0,1, memory 0"},
      {"third of four", place(2, 4), nullptr, 0, "cpus 2,3, memory 1"},
      {"second of two that may run on the first node alone", place(1, 2), nullptr, 2, "cpus 0,1"},
      {"second of two that may run on one processor of the second node", place(1, 2), nullptr, 3,
       "cpus 2, memory 1"},
  });
  // NVIDIA's driver lists its GPUs here.
  const std::vector<std::string> gpus = devices();
  if (gpus[0].empty() || gpus[1].empty()) {
    fmt::print("numa: FAILED: the machine has no device on each node\n");
    return num_failed + 1;
  }
  ::mount("none", "/proc/driver", "tmpfs", 0, nullptr);
  for (const std::string& gpu : gpus) fs::create_directories("/proc/driver/nvidia/gpus/" + gpu);
  const bool in_order = gpus[0] < gpus[1];
  const char* on_0 = "cpus 0,1, memory 0";
  const char* on_1 = "cpus 2,3, memory 1";
  return num_failed +
         run_cases({
             {"the first GPU's", place(0, 2), nullptr, 0, in_order ? on_0 : on_1},
             {"the second GPU's", place(1, 2), nullptr, 0, in_order ? on_1 : on_0},
             {"GPUs the other way round", place(0, 2), "1,0", 0, in_order ? on_1 : on_0},
             {"one process with the second GPU", place(0, 1), "1", 0, in_order ? on_1 : on_0},
         });
}

}  // namespace

int main() {
  for (const char* folder : {"/proc", "/sys", "/dev"}) ::mkdir(folder, 0755);
  ::mount("none", "/proc", "proc", 0, nullptr);
  ::mount("none", "/sys", "sysfs", 0, nullptr);
  ::mount("none", "/dev", "devtmpfs", 0, nullptr);
  const int num_failed = run_decoding_threads() + run();
  fmt::print("numa: {} failed\n", num_failed);
  std::fflush(stdout);
  ::sync();
  ::reboot(RB_POWER_OFF);
}
