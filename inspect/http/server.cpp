#include "http/server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/make_error.h"

namespace ffkit::http {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

int listening_socket(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto fail = [fd](const std::string& what) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    throw Error(ErrorCode::io, what, {.errno_value = error});
  };
  if (fd < 0) fail("no socket can be made");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, 128) != 0) {
    fail(fmt::format("port {} of 127.0.0.1 cannot be listened on", port));
  }
  return fd;
}

int port_of(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace

struct Server::Impl {
  struct Task {
    uint64_t connection = 0;
    Request request;
    Response response;
  };

  Impl(int port, Gate the_gate, Handler the_handler, const Limits& the_limits)
      : limits(the_limits),
        gate(std::move(the_gate)),
        handler(std::move(the_handler)),
        listener(listening_socket(port)),
        wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (wake.get() < 0) {
      throw Error(ErrorCode::io, "no event descriptor can be made", {.errno_value = errno});
    }
    for (int i = 0; i < std::max(1, limits.num_workers); ++i) {
      workers.emplace_back([this] { work(); });
    }
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      is_stopped = true;
      waiting.clear();
    }
    changed.notify_all();
    connections.clear();  // what is being made is abandoned
    for (std::thread& worker : workers) worker.join();
  }

  void wake_up() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t sent = ::write(wake.get(), &one, sizeof one);
  }

  void work() {
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_stopped || !waiting.empty(); });
        if (is_stopped) return;
        task = std::move(waiting.front());
        waiting.pop_front();
      }
      // Scrolled past: the browser has closed the connection.
      if (task.request.is_abandoned->load()) continue;
      try {
        task.response = handler(task.request);
      } catch (const std::exception& error) {
        task.response = {.status = 500, .body = std::string(error.what()) + "\n"};
      }
      {
        const std::lock_guard lock(mutex);
        done.push_back(std::move(task));
      }
      wake_up();
    }
  }

  void take(uint64_t number, std::optional<Request> request) {
    if (!request) return;
    Connection& connection = *connections.at(number);
    // Here and not in a worker: who has no token costs no work.
    if (const auto refusal = gate.refuse(*request)) {
      connection.answer(*refusal, false);
      return;
    }
    {
      const std::lock_guard lock(mutex);
      waiting.push_back({.connection = number, .request = std::move(*request), .response = {}});
    }
    changed.notify_one();
  }

  void accept_all() {
    while (true) {
      const int fd = accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        // Or poll() would report the listener without an end.
        make_room();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      if (fd < 0) return;
      if (std::ssize(connections) >= limits.max_connections) make_room();
      if (std::ssize(connections) >= limits.max_connections) {
        ::close(fd);
        continue;
      }
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections.emplace(next_number++, std::make_unique<Connection>(fd, limits));
    }
  }

  // Closes the one that has waited for the longest for a request, those without a token first.
  void make_room() {
    auto oldest = connections.end();
    for (auto at = connections.begin(); at != connections.end(); ++at) {
      if (at->second->state() != Connection::State::reading) continue;
      const auto rank = [](const auto& item) {
        return std::pair(item->second->is_trusted(), item->first);
      };
      if (oldest == connections.end() || rank(at) < rank(oldest)) oldest = at;
    }
    if (oldest != connections.end()) connections.erase(oldest);
  }

  void deliver() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake.get(), &count, sizeof count);
    std::vector<Task> ready;
    {
      const std::lock_guard lock(mutex);
      ready.swap(done);
    }
    for (Task& task : ready) {
      const auto at = connections.find(task.connection);
      if (at == connections.end()) continue;
      at->second->answer(task.response, true);
      advance(task.connection);
    }
  }

  // Sends, and takes the requests that came meanwhile.
  void advance(uint64_t number) {
    Connection& connection = *connections.at(number);
    while (connection.state() == Connection::State::writing) {
      std::optional<Request> next = connection.write();
      if (!next) break;
      take(number, std::move(next));
    }
  }

  // Milliseconds until a connection's time is over.
  int time_left() const {
    auto first = Clock::time_point::max();
    for (const auto& [number, connection] : connections) {
      first = std::min(first, connection->deadline());
    }
    if (first == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }

  void run() {
    std::vector<pollfd> polled;
    std::vector<uint64_t> numbers;
    while (true) {
      polled.assign({{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}});
      numbers.clear();
      for (const auto& [number, connection] : connections) {
        const bool writes = connection->state() == Connection::State::writing;
        const int events = writes ? POLLOUT : connection->can_read() ? POLLIN : 0;
        polled.push_back({connection->socket(), static_cast<short>(events), 0});
        numbers.push_back(number);
      }
      if (poll(polled.data(), polled.size(), time_left()) < 0 && errno != EINTR) {
        throw Error(ErrorCode::io, "the sockets cannot be waited for", {.errno_value = errno});
      }
      if (polled[1].revents != 0) {
        const std::lock_guard lock(mutex);
        if (is_stopped) return;
      }
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (polled[i + 2].revents != 0) handle(numbers[i]);
      }
      deliver();
      const Clock::time_point now = Clock::now();
      for (auto& [number, connection] : connections) {
        if (connection->deadline() <= now) connection->expire();
      }
      std::erase_if(connections, [](const auto& item) {
        return item.second->state() == Connection::State::closed;
      });
      if (polled[0].revents != 0) accept_all();
    }
  }

  void handle(uint64_t number) {
    Connection& connection = *connections.at(number);
    if (connection.can_read()) {
      take(number, connection.read());
    } else if (connection.state() == Connection::State::working) {
      connection.close();  // the other end has hung up
    }
    advance(number);
  }

  const Limits limits;
  const Gate gate;
  const Handler handler;
  const Descriptor listener;
  const Descriptor wake;
  // Of the thread of run() alone.
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections;
  uint64_t next_number = 0;

  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  bool is_stopped = false;
  std::deque<Task> waiting;
  std::vector<Task> done;
  std::vector<std::thread> workers;  // last: they use the others
};

Server::Server(int port, Gate gate, Handler handler, const Limits& limits)
    : impl_(std::make_unique<Impl>(port, std::move(gate), std::move(handler), limits)) {}

Server::~Server() = default;

int Server::port() const {
  return port_of(impl_->listener.get());
}

std::string Server::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port(), impl_->gate.token());
}

void Server::run() {
  impl_->run();
}

void Server::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->is_stopped = true;
  }
  impl_->changed.notify_all();
  impl_->wake_up();
}

}  // namespace ffkit::http
