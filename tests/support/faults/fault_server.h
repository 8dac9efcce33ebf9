// FaultServer: an HTTP/1.1 server on 127.0.0.1 that answers as a test says, wrongly for the most
// part. A thread a connection; ends with its object.
//
//   FaultServer server([](const FaultServer::Asked& asked, FaultServer::Connection& connection) {
//     if (asked.number < 2) return connection.answer(503);
//     connection.answer_range(asked, "bytes of the object", "\"etag\"");
//   });
//   client.fetch({.url = server.url("/x")});
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ffkit::testing {

class FaultServer {
 public:
  struct Asked {
    int number = 0;      // of the request, over all connections
    int connection = 0;  // its number
    std::string method, target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;

    std::string header(const std::string& name) const {
      const auto found = headers.find(name);
      return found == headers.end() ? "" : found->second;
    }
  };

  class Connection {
   public:
    Connection(int socket, int stop) : socket_(socket), stop_(stop) {}

    // False: the client is gone, or the test ends.
    bool send(std::string_view bytes) {
      while (!bytes.empty()) {
        if (!wait_for(POLLOUT, -1)) return false;
        const ssize_t sent =
            ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent <= 0) {
          is_open_ = false;
          return false;
        }
        bytes.remove_prefix(static_cast<size_t>(sent));
      }
      return true;
    }
    // Does nothing for so long, or until the test ends.
    void pause(double seconds) {
      pollfd stop{stop_, POLLIN, 0};
      ::poll(&stop, 1, static_cast<int>(std::ceil(seconds * 1000)));
    }
    // Until `is_true`, or until the test ends.
    void wait_until(const std::function<bool()>& is_true) {
      pollfd stop{stop_, POLLIN, 0};
      while (!is_true() && ::poll(&stop, 1, 1) == 0) continue;
    }
    // Until the test ends or the client has closed the connection.
    void hang() {
      wait_for(POLLRDHUP, -1);
      is_open_ = false;
    }
    void close() { is_open_ = false; }
    bool is_open() const { return is_open_; }

    void answer(int status, const std::string& body = "",
                const std::vector<std::string>& headers = {}) {
      send(head(status, static_cast<int64_t>(body.size()), headers) + body);
    }
    static std::string head(int status, int64_t num_bytes,
                            const std::vector<std::string>& headers = {}) {
      std::string text = "HTTP/1.1 " + std::to_string(status) + " Words\r\n";
      if (num_bytes >= 0) text += "Content-Length: " + std::to_string(num_bytes) + "\r\n";
      for (const std::string& header : headers) text += header + "\r\n";
      return text + "\r\n";
    }

    // As a server should: 200, 206, 416, and 412 for another ETag.
    void answer_range(const Asked& asked, const std::string& object, const std::string& etag) {
      if (asked.headers.contains("if-match") && asked.header("if-match") != etag) {
        answer(412, "", {"ETag: " + etag});
        return;
      }
      const auto [first, last] = range_of(asked);
      const auto size = static_cast<int64_t>(object.size());
      if (first < 0) return answer(200, object, {"ETag: " + etag});
      if (first >= size) {
        return answer(416, "", {"Content-Range: bytes */" + std::to_string(size)});
      }
      const int64_t end = std::min(last + 1, size);
      answer(206, object.substr(first, end - first),
             {content_range(first, end - 1, size), "ETag: " + etag});
    }
    static std::string content_range(int64_t first, int64_t last, int64_t size) {
      return "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
             std::to_string(size);
    }
    // First and last byte that are asked for; -1 without a range.
    static std::pair<int64_t, int64_t> range_of(const Asked& asked) {
      long long first = -1, last = -1;
      if (std::sscanf(asked.header("range").c_str(), "bytes=%lld-%lld", &first, &last) != 2) {
        return {-1, -1};
      }
      return {first, last};
    }

    // More of what the client says; empty when it is gone or the test ends.
    std::string receive() {
      if (!wait_for(POLLIN, -1)) return "";
      char bytes[65536];
      const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
      return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
    }

   private:
    bool wait_for(short events, int ms) {
      pollfd both[2] = {{socket_, events, 0}, {stop_, POLLIN, 0}};
      return ::poll(both, 2, ms) > 0 && both[1].revents == 0;
    }

    int socket_, stop_;
    bool is_open_ = true;
  };

  using Handler = std::function<void(const Asked&, Connection&)>;

  explicit FaultServer(Handler handler) : handler_(std::move(handler)) {
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listening_, any, size) != 0 || ::listen(listening_, 512) != 0 ||
        ::getsockname(listening_, any, &size) != 0) {
      std::perror("FaultServer");
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~FaultServer() {
    const uint64_t one = 1;
    if (::write(stop_, &one, sizeof one) < 0) std::abort();
    accepting_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listening_);
    ::close(stop_);
  }
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  std::string url(const std::string& target) const {
    return "http://127.0.0.1:" + std::to_string(port_) + target;
  }
  int port() const { return port_; }
  int num_connections() const { return num_connections_; }
  int num_requests() const { return num_requests_; }
  // Those that have come so far.
  std::vector<Asked> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void accept_all() {
    while (true) {
      pollfd both[2] = {{listening_, POLLIN, 0}, {stop_, POLLIN, 0}};
      if (::poll(both, 2, -1) < 0 || both[1].revents != 0) return;
      const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const int one = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      const int number = num_connections_++;
      threads_.emplace_back([this, socket, number] {
        serve(socket, number);
        ::close(socket);
      });
    }
  }

  void serve(int socket, int number) {
    Connection connection(socket, stop_);
    std::string text;
    while (connection.is_open()) {
      size_t end = 0;
      while ((end = text.find("\r\n\r\n")) == std::string::npos) {
        const std::string more = connection.receive();
        if (more.empty()) return;
        text += more;
      }
      Asked asked = read_head(text.substr(0, end + 2));
      asked.connection = number;
      text.erase(0, end + 4);
      const size_t body_bytes = std::strtoull(asked.header("content-length").c_str(), nullptr, 10);
      while (text.size() < body_bytes) {
        const std::string more = connection.receive();
        if (more.empty()) return;
        text += more;
      }
      asked.body = text.substr(0, body_bytes);
      text.erase(0, body_bytes);
      {
        const std::lock_guard lock(mutex_);
        asked.number = num_requests_++;
        asked_.push_back(asked);
      }
      handler_(asked, connection);
    }
  }

  static Asked read_head(const std::string& head) {
    Asked asked;
    size_t line_end = head.find("\r\n");
    const std::string first = head.substr(0, line_end);
    const size_t space = first.find(' ');
    asked.method = first.substr(0, space);
    asked.target = first.substr(space + 1, first.rfind(' ') - space - 1);
    for (size_t at = line_end + 2; at < head.size(); at = line_end + 2) {
      line_end = head.find("\r\n", at);
      const std::string line = head.substr(at, line_end - at);
      const size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      asked.headers[name] = line.substr(std::min(line.size(), colon + 2));
    }
    return asked;
  }

  const Handler handler_;
  int listening_ = -1, stop_ = -1, port_ = 0;
  std::atomic<int> num_connections_{0}, num_requests_{0};
  std::mutex mutex_;
  std::vector<Asked> asked_;
  std::thread accepting_;
  std::list<std::thread> threads_;  // of accepting_, until that has ended
};

}  // namespace ffkit::testing
