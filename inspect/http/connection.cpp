#include "http/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ffkit::http {

Connection::Connection(int socket, const Limits& limits)
    : socket_(socket), limits_(limits), deadline_(Clock::now() + limits.head_time) {}

Connection::~Connection() {
  close();
  ::close(socket_);
}

void Connection::close() {
  state_ = State::closed;
  if (is_abandoned_) is_abandoned_->store(true);
}

std::optional<Request> Connection::read() {
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

std::optional<Request> Connection::next_request() {
  const size_t length = head_length(in_);
  if (length == 0) {
    if (in_.size() >= limits_.max_head_bytes) {
      keep_alive_ = false;
      answer({.status = 431, .body = "The head of the request is too long.\n"}, false);
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

void Connection::answer(const Response& response, bool is_trusted) {
  is_trusted_ = is_trusted_ || is_trusted;
  out_ = response_head(response, keep_alive_);
  if (!is_head_) out_ += response.body;
  num_sent_ = 0;
  state_ = State::writing;
  deadline_ = Clock::now() + limits_.stall_time;
}

std::optional<Request> Connection::write() {
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

void Connection::expire() {
  if (state_ == State::reading && !in_.empty()) {
    // Said once; what does not fit into the socket is not waited for.
    keep_alive_ = false;
    answer({.status = 408, .body = "The head of the request took too long.\n"}, false);
    write();
  }
  close();
}

}  // namespace ffkit::http
