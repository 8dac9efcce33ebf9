// Server: answers GET requests on 127.0.0.1, and on nothing else. A thread looks after the sockets,
// workers make the answers; memory, time and connections are bounded, whoever asks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ffkit::http {

// A request of a browser: parsed from the bytes of its head, as RFC 9112 has it. GET and HEAD
// alone; a request with a body is none. And what is sent back, and who may ask.
struct Request {
  bool is_head = false;  // HEAD: the answer without its body
  bool keep_alive = true;
  std::string path;  // decoded, "/a b": never with a byte 0, nor a part that is "." or ".."
  std::map<std::string, std::string> parameters;  // decoded; of a name that repeats, the last
  std::string host;                               // as they were sent; empty: not sent
  std::string origin;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string fetch_mode;  // Sec-Fetch-Mode
  std::string fetch_dest;  // Sec-Fetch-Dest

  // Becomes true when nobody waits for the answer any longer.
  std::shared_ptr<const std::atomic<bool>> is_abandoned =
      std::make_shared<const std::atomic<bool>>(false);

  // The parameter, or `otherwise`.
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const;
  // The parameter as a whole number within [least, most], or `otherwise` where it is not sent.
  // Throws Error(invalid_argument) for another text.
  [[nodiscard]] int64_t number(const std::string& name, int64_t otherwise, int64_t least,
                               int64_t most) const;
  // As number(); throws Error(invalid_argument) where it is not sent.
  [[nodiscard]] int64_t required_number(const std::string& name, int64_t least, int64_t most) const;
  // "1" is true, "0" and nothing false; throws Error(invalid_argument) for another text.
  [[nodiscard]] bool flag(const std::string& name) const;
};

// How many bytes of `bytes` are the head of a request, its empty line included; 0 while that is not
// there yet.
size_t head_length(std::string_view bytes);

// Where it is no request that this server answers: `status` and why.
struct RequestProblem {
  int status = 400;
  std::string message;
};
// `head` as head_length() found it. Nothing of `request` counts where there is a problem.
std::optional<RequestProblem> parse_request(std::string_view head, Request& request);

// %41 is A, and in queries + a blank; nothing for %4 and %zz.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank);

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  bool may_be_kept = false;    // by the browser, for an hour
  std::string file_name = {};  // not empty: the browser saves it under this name
  std::string location = {};   // of status 308: where it is
  std::string nonce = {};      // of style and scripts that stand in the page itself
};

// The bytes of the answer's head, its empty line included, with what keeps the page to itself:
// nothing is loaded from elsewhere, framed, sniffed or referred.
std::string response_head(const Response& response, bool keep_alive);

// Gate: who may ask. An address begins with a token that nobody guesses; pages of other sites, and
// names of other hosts that lead here (DNS rebinding), are refused even with it.

// 128 bits of the system's random numbers, 22 characters that an address can have.
std::string random_token();

class Gate {
 public:
  // Throws Error(invalid_argument) for a token of less than 16 or more than 128 characters, or with
  // others than letters, digits, '-' and '_'.
  explicit Gate(std::string token);

  [[nodiscard]] const std::string& token() const { return token_; }

  // Takes "/TOKEN" off the path, or says why the request is refused. Takes the same time for any
  // wrong token of the same length.
  std::optional<Response> refuse(Request& request) const;

 private:
  std::string token_;
};

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
