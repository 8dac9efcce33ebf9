#include "distributed/meeting.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <ffkit/base/option_names.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "launch/meeting_point.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using MeetingClock = std::chrono::steady_clock;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

constexpr std::chrono::seconds kNoticeInterval{15};
// What libtorch itself gives up after the timeout ends within it.
constexpr std::chrono::seconds kTimeoutGrace{3};
constexpr std::chrono::milliseconds kPollInterval{20};

// An end that all steps of a meeting share.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(MeetingClock::now() +
             std::chrono::duration_cast<MeetingClock::duration>(
                 std::chrono::duration<double>(std::min(seconds, kLongest)))) {}
  MeetingClock::time_point end() const { return end_; }
  bool is_over() const { return MeetingClock::now() >= end_; }
  // libtorch takes 0 for no limit.
  std::chrono::milliseconds left() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end_ - MeetingClock::now());
    return std::max(left, std::chrono::milliseconds(1));
  }

 private:
  static constexpr double kLongest = 1e9;  // 30 years; longer ones overflow the clock
  MeetingClock::time_point end_;
};

// Where `place` has its meeting point from, for messages: "MASTER_ADDR 'h'".
std::string named_host(const ProcessPlace& place, const std::string& host) {
  const Environment environment = process_environment();
  std::string address = environment("MASTER_ADDR").value_or("");
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
  if (address == host) return fmt::format("the host of MASTER_ADDR, '{}',", host);
  if (place.launcher == Launcher::slurm || place.launcher == Launcher::mpi) {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      const std::string list = environment(name).value_or("");
      if (!list.empty() && parse_host_list(list).front() == host)
        return fmt::format("the first host of {}, '{}',", name, host);
    }
  }
  return fmt::format("the host of --dist-init-method, '{}',", host);
}

// Nothing when the name of a host is known here, else why not.
std::optional<std::string> why_unknown(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == 0) {
    freeaddrinfo(found);
    return std::nullopt;
  }
  return error == EAI_SYSTEM ? std::string(std::strerror(errno)) : gai_strerror(error);
}

// A cluster's names may be known a while after its machines start.
void wait_for_name(const ProcessPlace& place, const std::string& host, const Deadline& deadline,
                   WaitedFor& waited_for) {
  while (const std::optional<std::string> reason = why_unknown(host)) {
    const std::string named = named_host(place, host);
    waited_for.set(fmt::format("the address of {} to become known ({})", named, *reason));
    if (deadline.is_over()) {
      throw error_of(ErrorCode::io,
                     "rank {} of {} could not connect to the other processes within {:g} s: {} is "
                     "not known on this machine ({}); give an address that this machine knows",
                     place.rank, place.world_size, place.timeout_seconds, named, *reason);
    }
    std::this_thread::sleep_for(
        std::min<std::chrono::milliseconds>(std::chrono::seconds(1), deadline.left()));
  }
}

StorePtr open_tcp_store(const ProcessPlace& place, const HostAndPort& tcp, const Deadline& deadline,
                        WaitedFor& waited_for) {
  wait_for_name(place, tcp.host, deadline, waited_for);
  waited_for.set(fmt::format("{} to answer at port {}", named_host(place, tcp.host), tcp.port));
  c10d::TCPStoreOptions options;
  options.port = tcp.port;
  options.isServer = place.rank == 0 && !place.is_served;
  options.numWorkers = place.world_size;
  options.waitWorkers = false;  // come_together() does, and knows who has not come
  options.timeout = deadline.left();
  if (options.isServer && place.listening_socket >= 0)
    options.masterListenFd = place.listening_socket;
  return c10::make_intrusive<c10d::TCPStore>(tcp.host, options);
}

// Whether libtorch's FileStore has written `text`: keys, which are never empty, and values, each
// behind its length.
bool is_store(std::string_view text) {
  for (bool is_key = true; !text.empty() || !is_key; is_key = !is_key) {
    uint32_t length = 0;
    if (text.size() < sizeof(length)) return false;
    std::memcpy(&length, text.data(), sizeof(length));
    text.remove_prefix(sizeof(length));
    if (length > text.size() || (is_key && length == 0)) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Makes `file` where there is none. In one that is no store, libtorch would wait for ever for the
// rest of an entry, and keep the lock.
void require_store(const ProcessPlace& place, const fs::path& file) {
  const auto refuse = [&place](ErrorCode code, const std::string& why) {
    throw error_of(
        code, "the processes cannot meet at {}: {}; give the name of a file that can be created",
        place.meeting_point, why);
  };
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    refuse(ErrorCode::io, fmt::format("the file cannot be opened ({})", std::strerror(errno)));
  const File opened = File::adopt(fd, file);
  // What another process is writing at the moment is whole once it gives the lock back. A file
  // system without locks is libtorch's to refuse.
  while (::flock(fd, LOCK_SH) != 0 && errno == EINTR) {
  }
  std::string text(static_cast<size_t>(std::min(opened.size(), kMaxWholeFileBytes)), '\0');
  opened.read_at(0, std::as_writable_bytes(std::span(text)));
  if (!is_store(text)) {
    refuse(ErrorCode::invalid_argument,
           "the file has other contents, or a killed process has left an incomplete entry in the "
           "file");
  }
}

StorePtr open_file_store(const ProcessPlace& place, const fs::path& file, WaitedFor& waited_for) {
  // libtorch waits five minutes for a folder that is not there.
  std::error_code error;
  const fs::path folder = file.parent_path();
  if (!fs::is_directory(folder, error)) {
    throw error_of(ErrorCode::invalid_argument,
                   "the processes cannot meet at {}: the folder {} does not exist; make this "
                   "folder on a file system that all processes see",
                   place.meeting_point, folder.string());
  }
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) {
    throw error_of(ErrorCode::invalid_argument,
                   "the processes cannot meet at {}: the path is not a regular file; give the name "
                   "of a file that can be created",
                   place.meeting_point);
  }
  waited_for.set(
      fmt::format("a lock of {}, which its file system or another process holds", file.string()));
  require_store(place, file);
  return c10::make_intrusive<c10d::FileStore>(file.string(), place.world_size);
}

std::string text_at(c10d::Store& store, const std::string& key) {
  return store.check({key}) ? store.get_to_str(key) : std::string();
}

// Returns the name under which these processes and no others meet: rank 0 makes it up and gives it
// to each that proves, by a number of its own, that it is there now. So what a run before this one
// wrote into the same file counts for nothing.
std::string come_together(const ProcessPlace& place, c10d::Store& store, const Deadline& deadline,
                          WaitedFor& waited_for) {
  std::random_device random;
  const std::string own = fmt::format("{:08x}{:08x}", random(), random());
  const auto key = [](const char* what, const std::string& who) {
    return fmt::format("meeting/{}/{}", what, who);
  };
  const auto give_up = [&] { cannot_meet(place, "it waited for " + waited_for.get().first); };
  const auto pause = [&] {
    if (deadline.is_over()) give_up();
    std::this_thread::sleep_for(kPollInterval);
  };
  if (place.rank > 0) {
    const std::string rank = fmt::format("{}", place.rank);
    store.set(key("come", rank), own);
    for (std::string name;; pause()) {
      waited_for.set(name.empty() ? fmt::format("rank 0 at {}", place.meeting_point)
                                  : fmt::format("the others at {}", place.meeting_point),
                     /*concerns_all=*/true);
      const std::string welcome = text_at(store, key("welcome", rank));
      if (!welcome.starts_with(own)) continue;
      if (const std::string given = welcome.substr(own.size()); given != name) {
        name = given;
        store.set(key(name.c_str(), rank), std::string("here"));
      }
      if (store.check({key(name.c_str(), "all")})) return name;
    }
  }
  std::vector<std::string> welcomed(place.world_size);
  for (;; pause()) {
    std::vector<int> missing;
    for (int i = 1; i < place.world_size; ++i) {
      const std::string rank = fmt::format("{}", i);
      if (store.check({key(own.c_str(), rank)})) continue;
      missing.push_back(i);
      std::string& last = welcomed[i];
      const std::string come = text_at(store, key("come", rank));
      if (come == last) continue;
      last = come;
      store.set(key("welcome", rank), come + own);
    }
    if (missing.empty()) break;
    constexpr size_t kMaxNamed = 8;
    const size_t num_named = std::min(missing.size(), kMaxNamed);
    waited_for.set(fmt::format(
        "rank{} {}{} at {}", missing.size() == 1 ? "" : "s",
        fmt::join(missing.begin(), missing.begin() + num_named, ", "),
        missing.size() > num_named ? fmt::format(" and {} more", missing.size() - num_named) : "",
        place.meeting_point));
  }
  store.set(key(own.c_str(), "all"), std::string("here"));
  return own;
}

StorePtr meet_now(const ProcessPlace& place, WaitedFor& waited_for) {
  const Deadline deadline(place.timeout_seconds);
  StorePtr store;
  if (const std::optional<HostAndPort> tcp = host_and_port(place.meeting_point)) {
    store = open_tcp_store(place, *tcp, deadline, waited_for);
  } else if (const std::optional<std::string> file = meeting_file(place.meeting_point)) {
    store = open_file_store(place, *file, waited_for);
  } else {
    throw error_of(ErrorCode::invalid_argument,
                   "'{}' is not an address for a meeting; give tcp://HOST:PORT or file:///PATH",
                   place.meeting_point);
  }
  store->setTimeout(deadline.left());
  const auto own = c10::make_intrusive<c10d::PrefixStore>(place.key_prefix, store);
  const std::string name = come_together(place, *own, deadline, waited_for);
  store->setTimeout(
      std::chrono::milliseconds(static_cast<int64_t>(std::min(place.timeout_seconds, 1e9) * 1000)));
  return c10::make_intrusive<c10d::PrefixStore>(name, own);
}

}  // namespace

void WaitedFor::set(const std::string& what, bool concerns_all) {
  std::lock_guard lock(mutex_);
  what_ = what;
  concerns_all_ = concerns_all;
}

std::pair<std::string, bool> WaitedFor::get() const {
  std::lock_guard lock(mutex_);
  return {what_, concerns_all_};
}

void wait_for_others(const ProcessPlace& place,
                     const std::function<void(const std::shared_ptr<WaitedFor>&)>& action) {
  struct Outcome {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;
    std::exception_ptr error;
  };
  const auto outcome = std::make_shared<Outcome>();
  const auto waited_for = std::make_shared<WaitedFor>();
  const MeetingClock::time_point start = MeetingClock::now();
  const MeetingClock::time_point end = Deadline(place.timeout_seconds).end() + kTimeoutGrace;
  std::thread([outcome, waited_for, action] {
    std::exception_ptr error;
    try {
      action(waited_for);
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(outcome->mutex);
    outcome->is_over = true;
    outcome->error = error;
    outcome->changed.notify_all();
  }).detach();
  std::unique_lock lock(outcome->mutex);
  const auto is_over = [&] { return outcome->is_over; };
  for (auto notice = start + kNoticeInterval;
       !outcome->changed.wait_until(lock, std::min(notice, end), is_over);
       notice += kNoticeInterval) {
    const auto [what, concerns_all] = waited_for->get();
    if (MeetingClock::now() >= end) cannot_meet(place, "it waited for " + what);
    if (concerns_all && place.local_rank > 0) continue;
    const auto seconds = [](auto duration) {
      return std::chrono::duration<double>(duration).count();
    };
    fmt::print(stderr, "{}: rank {} of {} has waited {:.0f} s for {} (it waits {:.0f} s more)\n",
               program_invocation_short_name, place.rank, place.world_size,
               seconds(MeetingClock::now() - start), what,
               seconds(end - kTimeoutGrace - MeetingClock::now()));
  }
  if (outcome->error) std::rethrow_exception(outcome->error);
}

StorePtr meet(const ProcessPlace& place) {
  const auto store = std::make_shared<StorePtr>();
  wait_for_others(place, [place, store](const std::shared_ptr<WaitedFor>& waited_for) {
    *store = meet_now(place, *waited_for);
  });
  return *store;
}

std::string first_line_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  if (text.starts_with('[')) {
    if (const size_t end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
  }
  // Gloo's advice and good wishes.
  text = text.substr(0, text.find(". This is typically caused"));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

void cannot_meet(const ProcessPlace& place, const std::string& reason) {
  if (place.rank == 0 && (reason.find("EADDRINUSE") != std::string::npos ||
                          reason.find("address already in use") != std::string::npos)) {
    throw error_of(ErrorCode::io,
                   "another program uses the port of {}; give another port with MASTER_PORT "
                   "or {}",
                   place.meeting_point, option_set("dist_init_method", "tcp://HOST:PORT"));
  }
  throw error_of(
      ErrorCode::io,
      "rank {} of {} could not connect to the other processes at {} within {:g} s: {}; check "
      "that all processes have the same address and number of processes, and that no "
      "firewall blocks the port",
      place.rank, place.world_size, place.meeting_point, place.timeout_seconds, reason);
}

}  // namespace ffkit
