// Starts the processes of one machine and looks after them: their output, their signals, their
// ends.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/launch/launch.h>
#include <ffkit/launch/stop.h>

#include "base/file/file.h"
#include "launchers.h"
#include "meeting_point.h"
#include "waiting.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

// Between SIGTERM and SIGKILL: time for a checkpoint.
constexpr auto kGrace = std::chrono::seconds(30);
// Between the end of a process and SIGKILL for the others, if they were asked to stop long before:
// time for their last words.
constexpr auto kGraceOfAsked = std::chrono::seconds(3);

[[noreturn]] void throw_launch_error(const char* what) {
  throw Error(ErrorCode::io, what, {.errno_value = errno});
}

File no_file() {
  return File::adopt(-1, {});
}

// A listening socket on a port of the kernel's choice; `port` gets its number.
File listen_anywhere(int& port) {
  File socket = File::adopt(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), {});
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (socket.fd() < 0 || ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(socket.fd(), 1024) != 0 ||
      ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw_launch_error("cannot listen on a port of this machine");
  }
  port = ntohs(address.sin_port);
  return socket;
}

// One of the two streams of a process: whole lines go on, each with the rank before it.
class PrefixedStream {
 public:
  PrefixedStream(File from, std::FILE* to, std::string prefix)
      : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {}

  int fd() const { return from_.fd(); }

  // Takes what is there; closes at the end.
  void read() {
    std::array<char, 1 << 16> buffer;
    while (from_.fd() >= 0) {
      const ssize_t n = ::read(from_.fd(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) {
        close();
        break;
      }
      text_.append(buffer.data(), size_t(n));
      print_lines();
    }
    std::fflush(to_);
  }

  // What is left of an unfinished line is one too.
  void close() {
    if (!text_.empty()) text_ += '\n';
    print_lines();
    from_ = no_file();
  }

 private:
  void print_lines() {
    size_t begin = 0;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
      const std::string line = prefix_ + text_.substr(begin, end - begin) + '\n';
      // A log that is full, or without a reader, is no reason to end the processes.
      static_cast<void>(std::fwrite(line.data(), 1, line.size(), to_));
      begin = end + 1;
    }
    text_.erase(0, begin);
  }

  File from_;
  std::FILE* to_;
  std::string prefix_;
  std::string text_;
};

struct Process {
  int rank = 0;
  std::vector<PrefixedStream> streams;
};

class LocalProcesses {
 public:
  explicit LocalProcesses(const LaunchOptions& options) : options_(options) {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : kStopSignals) sigaddset(&handled, signal);
    sigaddset(&handled, SIGCHLD);
    if (pthread_sigmask(SIG_BLOCK, &handled, &old_mask_) != 0)
      throw_launch_error("cannot block signals");
    signals_ = File::adopt(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK), {});
    if (signals_.fd() < 0) throw_launch_error("cannot receive signals");
  }

  ~LocalProcesses() {
    for (const auto& [pid, process] : processes_) ::kill(pid, SIGKILL);
    while (!processes_.empty() && reap(true)) {
    }
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }
  LocalProcesses(const LocalProcesses&) = delete;
  LocalProcesses& operator=(const LocalProcesses&) = delete;

  void start(const LaunchPlan& plan, int local_rank, const std::vector<std::string>& arguments,
             std::vector<std::string> environment, int kept_socket) {
    std::array<int, 2> out{}, err{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0) throw_launch_error("cannot create a pipe");
    File out_read = File::adopt(out[0], {}), out_write = File::adopt(out[1], {});
    if (::pipe2(err.data(), O_CLOEXEC) != 0) throw_launch_error("cannot create a pipe");
    File err_read = File::adopt(err[0], {}), err_write = File::adopt(err[1], {});

    std::vector<char*> argv, envp;
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    for (std::string& e : environment) envp.push_back(e.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) throw_launch_error("cannot start a process");
    if (pid == 0) {
      // Only what is allowed between fork and exec in a program with threads.
      ::setpgid(0, 0);  // Ctrl-C reaches it once, by us
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(out_write.fd(), STDOUT_FILENO);
      ::dup2(err_write.fd(), STDERR_FILENO);
      if (const int null = ::open("/dev/null", O_RDONLY); null >= 0) ::dup2(null, STDIN_FILENO);
      if (kept_socket >= 0) ::fcntl(kept_socket, F_SETFD, 0);
      ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
      ::execve("/proc/self/exe", argv.data(), envp.data());
      ::_exit(127);
    }
    const int rank = plan.place.rank + local_rank;
    Process process{.rank = rank, .streams = {}};
    for (const File* file : {&out_read, &err_read}) ::fcntl(file->fd(), F_SETFL, O_NONBLOCK);
    const std::string prefix = fmt::format("[{}] ", rank);
    process.streams.emplace_back(std::move(out_read), stdout, options_.marks_output ? prefix : "");
    process.streams.emplace_back(std::move(err_read), stderr, prefix);
    processes_.emplace(pid, std::move(process));
  }

  int wait() {
    while (!processes_.empty()) {
      std::vector<pollfd> polled = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
      for (auto& [pid, process] : processes_) {
        for (PrefixedStream& stream : process.streams) {
          if (stream.fd() >= 0)
            polled.push_back({.fd = stream.fd(), .events = POLLIN, .revents = 0});
        }
      }
      ::poll(polled.data(), polled.size(), deadline_ ? 200 : -1);
      for (auto& [pid, process] : processes_) {
        for (PrefixedStream& stream : process.streams) stream.read();
      }
      take_signals();
      while (reap(false)) {
      }
      if (deadline_ && Clock::now() > *deadline_) {
        signal_all(SIGKILL);
        deadline_.reset();
      }
    }
    return status_.value_or(0);
  }

 private:
  void take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.fd(), &info, sizeof(info)) == ssize_t(sizeof(info))) {
      if (int(info.ssi_signo) == SIGCHLD) continue;
      if (asked_by_ == 0) asked_at_ = Clock::now();
      asked_by_ = int(info.ssi_signo);
      signal_all(int(info.ssi_signo));
    }
  }

  void signal_all(int signal) {
    for (const auto& [pid, process] : processes_) {
      ::kill(pid, signal);
      ::kill(pid, SIGCONT);  // one that was stopped (SIGSTOP) would not hear of it
    }
  }

  // Takes the end of one process; false when none has ended.
  bool reap(bool blocks) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, blocks ? 0 : WNOHANG);
    if (pid < 0 && errno == EINTR) return true;
    if (pid <= 0) return false;
    const auto it = processes_.find(pid);
    if (it == processes_.end()) return true;
    for (PrefixedStream& stream : it->second.streams) {
      stream.read();
      if (stream.fd() >= 0) stream.close();
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // It was asked to stop before it was so far as to hear of it.
    const bool is_stopped = WIFSIGNALED(status) && WTERMSIG(status) == asked_by_;
    if (is_stopped) code = stop_exit_status(asked_by_);
    const int rank = it->second.rank;
    processes_.erase(it);
    if (code != 0 && !status_) {
      status_ = code;
      if (WIFSIGNALED(status) && !is_stopped) {
        fmt::print(stderr, "{}: error: the process of rank {} was ended by signal {} ({})\n",
                   options_.program, rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
      }
      if (!processes_.empty()) {
        signal_all(SIGTERM);
        // Of a run that is stopped, a process that has waited for another one for as long as it may
        // has ended: the other one hangs.
        const Clock::time_point now = Clock::now();
        const bool is_asked = asked_by_ != 0 || code == kExitStopped;
        deadline_ =
            is_asked ? std::max(now + kGraceOfAsked, asked_at_ + Waiting::kPatience) : now + kGrace;
      }
    }
    return true;
  }

  const LaunchOptions& options_;
  sigset_t old_mask_{};
  File signals_ = no_file();
  std::map<pid_t, Process> processes_;
  int asked_by_ = 0;            // the last signal that was passed on and asks for the end; 0: none
  Clock::time_point asked_at_;  // of the first of them; long ago: a process was asked alone
  std::optional<int> status_;   // of the first process that failed
  std::optional<Clock::time_point> deadline_;
};

std::vector<std::string> environment_of(const LaunchPlan& plan, int local_rank,
                                        const std::string& host, int port, int socket) {
  const std::map<std::string, std::string> own = {
      {kStartedVariable, "1"},
      {kSocketVariable, socket >= 0 ? std::to_string(socket) : ""},
      {"RANK", std::to_string(plan.place.rank + local_rank)},
      {"WORLD_SIZE", std::to_string(plan.place.world_size)},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(plan.num_processes)},
      {"MASTER_ADDR", host},
      {"MASTER_PORT", std::to_string(port)},
      {"TORCHELASTIC_USE_AGENT_STORE", ""},
      {"TORCHELASTIC_RESTART_COUNT", ""}};
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    if (own.find(std::string(entry.substr(0, entry.find('=')))) == own.end())
      out.emplace_back(entry);
  }
  for (const auto& [name, value] : own) out.push_back(name + "=" + value);
  return out;
}

}  // namespace

int run_local_processes(const LaunchPlan& plan, const LaunchOptions& options,
                        const std::vector<std::string>& arguments) {
  std::string host = "127.0.0.1";
  int port = 0;
  File socket = no_file();
  const std::string& meeting = plan.place.meeting_point;
  if (meeting.empty() || (plan.place.launcher == Launcher::none && options.init_method.empty())) {
    socket = listen_anywhere(port);
  } else if (const std::optional<HostAndPort> tcp = host_and_port(meeting)) {
    host = tcp->host;
    port = tcp->port;
  } else {
    port = 1;  // the processes read the file's name from the command line
  }
  LocalProcesses processes(options);
  for (int i = 0; i < plan.num_processes; ++i) {
    const int kept = i == 0 ? socket.fd() : -1;
    processes.start(plan, i, arguments, environment_of(plan, i, host, port, kept), kept);
  }
  socket = no_file();
  return processes.wait();
}

}  // namespace ffkit
