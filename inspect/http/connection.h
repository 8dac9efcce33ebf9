// Connection: the bytes that came from one browser, and those that go to it. Used by the server's
// thread alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "http/request.h"
#include "http/response.h"

namespace ffkit::http {

using Clock = std::chrono::steady_clock;

struct Limits {
  int max_connections = 128;
  size_t max_head_bytes = size_t{16} << 10;
  std::chrono::milliseconds head_time{10'000};   // from a head's first byte to its last
  std::chrono::milliseconds idle_time{60'000};   // between requests
  std::chrono::milliseconds stall_time{30'000};  // in which an answer gets no further
  int num_workers = 2;
};

class Connection {
 public:
  enum class State { reading, working, writing, closed };

  // Takes the socket, which does not block.
  Connection(int socket, const Limits& limits);
  ~Connection();
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
  std::optional<Request> read();
  // Begins the answer to the last request.
  void answer(const Response& response, bool is_trusted);
  // Sends what can be sent. Returns the next request where it came together with the last one.
  std::optional<Request> write();
  // The time is over.
  void expire();
  // Nobody waits for an answer any longer: the worker may stop.
  void close();

 private:
  std::optional<Request> next_request();

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

}  // namespace ffkit::http
