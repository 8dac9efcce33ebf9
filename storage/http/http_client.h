// HttpClient: requests by libcurl, many at once, in one thread (curl_multi). It repeats nothing and
// judges no status: storage/requests/ does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ffkit {

struct HttpRequest {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url;
  std::vector<std::string> headers;      // "Range: bytes=0-99"
  std::span<const std::byte> body = {};  // stays until the request is done
  // Where the body of an answer 200 or 206 goes, and stays until the request is done; an answer
  // that is longer ends the request. Without: HttpResponse::body has it.
  std::span<std::byte> into = {};
  int64_t max_body_bytes = 64 << 20;  // of HttpResponse::body
  // The request ends when it had no byte for so long, and when it lasts so long (0: no limit).
  double stall_limit_s = 30;
  double time_limit_s = 0;
  bool follow_redirects = false;
  // By which cancel() knows the request; several may have the same. 0: none.
  uint64_t ticket = 0;
  // Over a new connection, and never twice: libcurl sends a request again, which nobody is told,
  // where a kept connection ended before its answer came.
  bool is_sent_once = false;
  std::string ca_file = {};  // of certificates; empty: the client's
  // Called by a Requester once all headers are there: a signature that includes Range.
  std::function<void(HttpRequest&)> sign = {};
};

// A ticket that no other request of this process has.
uint64_t new_http_ticket();

struct HttpResponse {
  int status = 0;       // 0: there was no whole answer, and `failure` says why
  std::string failure;  // "could not connect to server"; empty for an answer
  bool is_cut = false;  // the connection ended, stalled or was refused: may be repeated
  int seen_status = 0;  // as `status`, but also of an answer whose end did not come
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;       // without HttpRequest::into, and of answers other than 200 and 206
  int64_t num_bytes = 0;  // of the body, wherever it went
  int num_connects = 0;   // connections that were opened for the request
  double first_byte_s = 0;
  double total_s = 0;

  // The value of a header, by its name in lower case; empty without it.
  std::string_view header(std::string_view name) const;
  // A header that is a whole number from 0 on; nothing otherwise.
  std::optional<int64_t> number(std::string_view name) const;
  bool is_success() const { return status >= 200 && status < 300; }
};

class HttpClient {
 public:
  using Done = std::function<void(HttpResponse)>;

  virtual ~HttpClient() = default;
  // Starts a request. `done` is called once, in the client's thread, and must be short; it may call
  // send(). Thread-safe.
  virtual void send(HttpRequest request, Done done) = 0;
  // Ends the requests of this ticket as failures that are not to be repeated; until their `done` is
  // called their memory may still be written. A client that cannot lets them come to their end.
  virtual void cancel(uint64_t /*ticket*/) {}
  // The same, waiting for the answer. Not from the client's thread.
  HttpResponse fetch(HttpRequest request);
};

// Whether the caller is a `done`, or something else in a client's thread, and must not wait for
// another request.
bool is_http_client_thread();

// Held while a request is made. Signing uses OpenSSL, which is taken down when the process ends:
// that end waits for what is being made, and nothing is allowed from then on.
class MakingRequest {
 public:
  MakingRequest();
  ~MakingRequest();
  MakingRequest(const MakingRequest&) = delete;
  MakingRequest& operator=(const MakingRequest&) = delete;

  bool is_allowed() const { return is_allowed_; }

 private:
  bool is_allowed_ = true;
  int process_ = 0;  // of which it is counted; 0: of none
};

// Ends what is running as failures; nothing is sent from then on. For the end of the process.
void end_process_requests();
bool is_process_ending();

// The client of this process; a child of fork() has one of its own. When the process exits, it ends
// what is running as failures. Throws Error(unsupported) with what to install where there is no
// libcurl.
std::shared_ptr<HttpClient> process_http_client();

struct CurlLibrary;

struct CurlClientOptions {
  // Of one host; further requests wait for one to end, and none of their limits runs meanwhile.
  int max_connections_per_host = 256;
  std::string ca_file;  // empty: libcurl's own certificates
};

// A client of libcurl's multi interface: one thread that has all requests in flight. Destroying it
// ends what is running as failures and waits for the thread; from a `done`, it does not wait. In a
// child of fork() it sends nothing, and destroying it leaves everything as it is. Throws Error(io)
// where no thread can be started.
std::shared_ptr<HttpClient> make_curl_client(const CurlLibrary& curl,
                                             const CurlClientOptions& options = {});

}  // namespace ffkit
