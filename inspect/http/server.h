// Server: answers GET requests on 127.0.0.1, and on nothing else. A thread looks after the sockets,
// workers make the answers; memory, time and connections are bounded, whoever asks.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "http/gate.h"
#include "http/message.h"

namespace ffkit::http {

struct Limits {
  int max_connections = 128;
  size_t max_head_bytes = size_t{16} << 10;
  std::chrono::milliseconds head_time{10'000};   // from a head's first byte to its last
  std::chrono::milliseconds idle_time{60'000};   // between requests
  std::chrono::milliseconds stall_time{30'000};  // in which an answer gets no further
  int num_workers = 2;
};

// Called by several workers at once. What it throws is answered by status 500.
using Handler = std::function<Response(const Request&)>;

class Server {
 public:
  // Listens on 127.0.0.1; port 0: one that is free. Throws Error(io) for a port that is taken.
  Server(int port, Gate gate, Handler handler, const Limits& limits = {});
  ~Server();  // stops
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  // "http://127.0.0.1:PORT/TOKEN/".
  std::string address() const;
  // Answers until stop() is called.
  void run();
  // From any thread.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit::http
