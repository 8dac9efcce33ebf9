#include "http/server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit::http {
namespace {

using Clock = std::chrono::steady_clock;

// The bytes that came from one browser, and those that go to it. Used by the server's thread alone.
class Connection {
 public:
  enum class State { reading, working, writing, closed };

  // Takes the socket, which does not block.
  Connection(int socket, const Limits& limits)
      : socket_(socket), limits_(limits), deadline_(Clock::now() + limits.head_time) {}
  ~Connection() {
    close();
    ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  State state() const { return state_; }
  // When it is closed unless something happens; never while a worker makes the answer.
  Clock::time_point deadline() const { return deadline_; }
  // Whether read() has room: what a client sends ahead waits in the socket. Also while a worker
  // makes the answer, to see that nobody waits for it any longer.
  bool can_read() const { return state_ != State::writing && in_.size() < limits_.max_head_bytes; }
  // Whether a request of it was answered that had the token.
  bool is_trusted() const { return is_trusted_; }

  // Takes what has come. Returns a request as soon as its head is whole; the state is then
  // `working`. Answers what is no request by itself.
  std::optional<Request> read() {
    std::array<char, 4096> bytes = {};
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got <= 0) {
      close();
      return std::nullopt;
    }
    if (state_ == State::reading && in_.empty()) deadline_ = Clock::now() + limits_.head_time;
    in_.append(bytes.data(), static_cast<size_t>(got));
    return state_ == State::reading ? next_request() : std::nullopt;
  }

  // Begins the answer to the last request.
  void answer(const Response& response, bool is_trusted) {
    is_trusted_ = is_trusted_ || is_trusted;
    out_ = response_head(response, keep_alive_);
    if (!is_head_) out_ += response.body;
    num_sent_ = 0;
    state_ = State::writing;
    deadline_ = Clock::now() + limits_.stall_time;
  }

  // Sends what can be sent. Returns the next request where it came together with the last one.
  std::optional<Request> write() {
    while (num_sent_ < out_.size()) {
      const ssize_t sent =
          send(socket_, out_.data() + num_sent_, out_.size() - num_sent_, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return std::nullopt;
      if (sent <= 0) {
        close();
        return std::nullopt;
      }
      num_sent_ += static_cast<size_t>(sent);
      deadline_ = Clock::now() + limits_.stall_time;
    }
    out_.clear();
    out_.shrink_to_fit();
    is_head_ = false;
    is_abandoned_.reset();
    if (!keep_alive_) {
      close();
      return std::nullopt;
    }
    state_ = State::reading;
    deadline_ = Clock::now() + (in_.empty() ? limits_.idle_time : limits_.head_time);
    return in_.empty() ? std::nullopt : next_request();
  }

  // The time is over.
  void expire() {
    if (state_ == State::reading && !in_.empty()) {
      // Said once; what does not fit into the socket is not waited for.
      keep_alive_ = false;
      answer({.status = 408, .body = "The header of the request took too long.\n"}, false);
      write();
    }
    close();
  }

  // Nobody waits for an answer any longer: the worker may stop.
  void close() {
    state_ = State::closed;
    if (is_abandoned_) is_abandoned_->store(true);
  }

 private:
  std::optional<Request> next_request() {
    const size_t length = head_length(in_);
    if (length == 0) {
      if (in_.size() >= limits_.max_head_bytes) {
        keep_alive_ = false;
        answer({.status = 431, .body = "The header of the request is too long.\n"}, false);
      }
      return std::nullopt;
    }
    Request request;
    const auto problem = parse_request(std::string_view(in_).substr(0, length), request);
    in_.erase(0, length);
    if (problem) {
      keep_alive_ = false;
      answer({.status = problem->status, .body = problem->message + "\n"}, false);
      return std::nullopt;
    }
    state_ = State::working;
    deadline_ = Clock::time_point::max();
    keep_alive_ = request.keep_alive;
    is_head_ = request.is_head;
    is_abandoned_ = std::make_shared<std::atomic<bool>>(false);
    request.is_abandoned = is_abandoned_;
    return request;
  }

  const int socket_;
  const Limits& limits_;
  State state_ = State::reading;
  bool is_trusted_ = false;
  bool keep_alive_ = true;
  bool is_head_ = false;
  std::string in_;
  std::string out_;
  size_t num_sent_ = 0;
  Clock::time_point deadline_;
  std::shared_ptr<std::atomic<bool>> is_abandoned_;
};

int listening_socket(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto fail = [fd](const std::string& what) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    throw Error(ErrorCode::io, what, {.errno_value = error});
  };
  if (fd < 0) fail("cannot make a socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, 128) != 0) {
    fail(fmt::format("cannot listen on port {} of 127.0.0.1", port));
  }
  return fd;
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
        listener(File::adopt(listening_socket(port), "socket")),
        wake(File::adopt(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")) {
    if (wake.fd() < 0) {
      throw Error(ErrorCode::io, "cannot make an event descriptor", {.errno_value = errno});
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
    [[maybe_unused]] const ssize_t sent = ::write(wake.fd(), &one, sizeof one);
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
      const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
    [[maybe_unused]] const ssize_t got = ::read(wake.fd(), &count, sizeof count);
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
      polled.assign({{listener.fd(), POLLIN, 0}, {wake.fd(), POLLIN, 0}});
      numbers.clear();
      for (const auto& [number, connection] : connections) {
        const bool writes = connection->state() == Connection::State::writing;
        const int events = writes ? POLLOUT : connection->can_read() ? POLLIN : 0;
        polled.push_back({connection->socket(), static_cast<short>(events), 0});
        numbers.push_back(number);
      }
      if (poll(polled.data(), polled.size(), time_left()) < 0 && errno != EINTR) {
        throw Error(ErrorCode::io, "cannot wait for the sockets", {.errno_value = errno});
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
  const File listener;
  const File wake;
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
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  getsockname(impl_->listener.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
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
