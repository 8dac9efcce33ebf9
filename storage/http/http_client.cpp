#include "http/http_client.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

#include "base/make_error.h"
#include "base/number_text.h"
#include "http/curl_library.h"
#include "http/curl_reactor.h"

namespace ffkit {
namespace {

class CurlClient : public HttpClient {
 public:
  CurlClient(const CurlLibrary& curl, const CurlClientOptions& options)
      : reactor_(std::make_unique<CurlReactor>(curl, options)) {}

  ~CurlClient() override {
    if (!is_ours()) {
      // The thread is the parent's, and a lock may be held by it for ever.
      static_cast<void>(reactor_.release());
    } else if (!reactor_->stop()) {
      // A `done` had the last reference, and cannot wait for its own thread.
      CurlReactor::end_by_itself(std::move(reactor_));
    }
  }
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  void send(HttpRequest request, Done done) override {
    if (is_ours()) {
      reactor_->send(std::move(request), std::move(done));
      return;
    }
    HttpResponse response;
    response.failure = fmt::format(
        "the connections belong to process {}, which made them before fork()", process_);
    done(std::move(response));
  }

  void cancel(uint64_t ticket) override {
    if (is_ours()) reactor_->cancel(ticket);
  }

  void stop() {
    if (is_ours()) reactor_->stop();
  }

 private:
  bool is_ours() const { return ::getpid() == process_; }

  const pid_t process_ = ::getpid();
  std::unique_ptr<CurlReactor> reactor_;
};

struct ProcessClient {
  pid_t process = 0;
  std::shared_ptr<CurlClient> client;
  const ProcessClient* of_parent = nullptr;
};

// No mutex, which another thread might hold during fork(). Never freed: a child cannot free its
// parent's, and requests may be running until the process exits.
std::atomic<const ProcessClient*> process_client{nullptr};

// What is being made, of the process that `process` says: a child of fork() begins anew, whatever
// its parent's threads were doing.
struct Making {
  std::atomic<pid_t> process{0};
  std::atomic<int> number{0};
  std::atomic<bool> is_ending{false};
};
Making making;
// A command that prints credentials may hang.
constexpr auto kLongestEnd = std::chrono::seconds(2);

}  // namespace

void end_process_requests() {
  const ProcessClient* existing = process_client.load();
  if (existing == nullptr || existing->process != ::getpid()) return;
  making.process = ::getpid();
  making.is_ending = true;
  existing->client->stop();  // so that those who wait for an answer get none
  const auto end = std::chrono::steady_clock::now() + kLongestEnd;
  while (making.process == ::getpid() && making.number > 0 &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool is_process_ending() {
  return making.is_ending && making.process == ::getpid();
}

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<int64_t> HttpResponse::number(std::string_view name) const {
  const auto number = number_of_text<int64_t>(header(name));
  return number >= 0 ? number : std::nullopt;
}

MakingRequest::MakingRequest() : process_(::getpid()) {
  if (making.process.exchange(process_) != process_) {
    making.number = 0;
    making.is_ending = false;
  }
  ++making.number;
  is_allowed_ = !making.is_ending;
}

MakingRequest::~MakingRequest() {
  if (making.process == process_ && process_ == ::getpid()) --making.number;
}

uint64_t new_http_ticket() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

HttpResponse HttpClient::fetch(HttpRequest request) {
  auto answer = std::make_shared<std::promise<HttpResponse>>();
  std::future<HttpResponse> result = answer->get_future();
  send(std::move(request),
       [answer](HttpResponse response) { answer->set_value(std::move(response)); });
  return result.get();
}

std::shared_ptr<HttpClient> make_curl_client(const CurlLibrary& curl,
                                             const CurlClientOptions& options) {
  return std::make_shared<CurlClient>(curl, options);
}

std::shared_ptr<HttpClient> process_http_client() {
  const ProcessClient* existing = process_client.load();
  if (existing != nullptr && existing->process == ::getpid()) return existing->client;
  const CurlLibrary& curl = curl_library();
  const curl_version_info_data* version = curl.version_info(CURLVERSION_NOW);
  const bool has_ca = version->age >= CURLVERSION_SEVENTH;  // 7.70
  const std::string ca_file =
      ca_bundle(has_ca ? version->cainfo : nullptr, has_ca ? version->capath : nullptr);
  auto* made = new ProcessClient{
      ::getpid(), std::make_shared<CurlClient>(curl, CurlClientOptions{.ca_file = ca_file})};
  // TLS must not be in use when the library's own handlers take it down: they were registered
  // before this one, and so are called after it.
  static const int kRegistered = std::atexit(end_process_requests);
  static_cast<void>(kRegistered);
  do {
    if (existing != nullptr && existing->process == made->process) {
      delete made;  // another thread was first
      return existing->client;
    }
    made->of_parent = existing;
  } while (!process_client.compare_exchange_weak(existing, made));
  return made->client;
}

}  // namespace ffkit
