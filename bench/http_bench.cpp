// Processor time of a GET: of libcurl's multi interface alone, of HttpClient, and of a range by a
// Requester. The server is another process on this machine.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "faults/fault_server.h"
#include "http/curl_library.h"
#include "http/http_client.h"
#include "requests/requests.h"

namespace ffkit {
namespace {

constexpr int kNumInFlight = 16;
constexpr int kNumRequests = 512;

// A server in a child process, which answers every request with the same bytes.
class ServerProcess {
 public:
  explicit ServerProcess(size_t num_bytes) {
    int ports[2];
    if (::pipe(ports) != 0) std::abort();
    child_ = ::fork();
    if (child_ == 0) {
      const auto last = static_cast<int64_t>(num_bytes) - 1;
      using Connection = testing::FaultServer::Connection;
      const std::string answer =
          Connection::head(206, last + 1, {Connection::content_range(0, last, last + 1)}) +
          std::string(num_bytes, 'x');
      const testing::FaultServer server([&](const testing::FaultServer::Asked&,
                                            Connection& connection) { connection.send(answer); });
      const int port = server.port();
      if (::write(ports[1], &port, sizeof port) < 0) ::_exit(1);
      while (true) ::pause();
    }
    int port = 0;
    if (::read(ports[0], &port, sizeof port) != sizeof port) std::abort();
    ::close(ports[0]);
    ::close(ports[1]);
    url_ = "http://127.0.0.1:" + std::to_string(port) + "/x";
  }
  ~ServerProcess() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& url() const { return url_; }

 private:
  pid_t child_ = 0;
  std::string url_;
};

void count(benchmark::State& state, int64_t num_bytes) {
  state.SetItemsProcessed(state.iterations() * kNumRequests);
  state.SetBytesProcessed(state.iterations() * kNumRequests * num_bytes);
}

struct BareTransfer {
  std::vector<char> memory;
  size_t num_bytes = 0;

  static size_t on_body(char* bytes, size_t size, size_t number, void* self) {
    auto* transfer = static_cast<BareTransfer*>(self);
    std::memcpy(transfer->memory.data() + transfer->num_bytes, bytes, size * number);
    transfer->num_bytes += size * number;
    return size * number;
  }
};

void BM_BareMulti(benchmark::State& state) {
  const CurlLibrary& curl = curl_library();
  const ServerProcess server(static_cast<size_t>(state.range(0)));
  CURLM* multi = curl.multi_init();
  std::vector<BareTransfer> transfers(kNumInFlight);
  std::vector<CURL*> handles;
  for (BareTransfer& transfer : transfers) {
    transfer.memory.resize(static_cast<size_t>(state.range(0)));
    CURL* handle = curl.easy_init();
    curl.easy_setopt(handle, CURLOPT_URL, server.url().c_str());
    curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, &BareTransfer::on_body);
    curl.easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    curl.easy_setopt(handle, CURLOPT_PRIVATE, &transfer);
    curl.easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
    curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    handles.push_back(handle);
  }
  for (auto _ : state) {
    int num_started = 0, num_ended = 0;
    for (CURL* handle : handles) {
      curl.multi_add_handle(multi, handle);
      ++num_started;
    }
    while (num_ended < kNumRequests) {
      int num_running = 0, num_left = 0;
      curl.multi_perform(multi, &num_running);
      while (const CURLMsg* message = curl.multi_info_read(multi, &num_left)) {
        CURL* handle = message->easy_handle;
        BareTransfer* transfer = nullptr;
        curl.easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
        if (transfer->num_bytes != transfer->memory.size()) state.SkipWithError("short");
        transfer->num_bytes = 0;
        ++num_ended;
        curl.multi_remove_handle(multi, handle);
        if (num_started < kNumRequests) {
          curl.multi_add_handle(multi, handle);
          ++num_started;
        }
      }
      if (num_ended < kNumRequests) curl.multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
  }
  for (CURL* handle : handles) curl.easy_cleanup(handle);
  curl.multi_cleanup(multi);
  count(state, state.range(0));
}

// Calls `start(memory, done)` for each request, so many at a time.
template <typename Start>
void keep_in_flight(benchmark::State& state, Start start) {
  std::vector<std::vector<std::byte>> memory(
      kNumInFlight, std::vector<std::byte>(static_cast<size_t>(state.range(0))));
  std::mutex mutex;
  std::condition_variable changed;
  for (auto _ : state) {
    int num_started = 0, num_ended = 0;
    std::function<void(std::vector<std::byte>&)> next = [&](std::vector<std::byte>& into) {
      start(into, [&](bool is_good) {
        if (!is_good) state.SkipWithError("wrong answer");
        bool is_more = false;
        {
          const std::lock_guard lock(mutex);
          is_more = num_started < kNumRequests;
          if (is_more) ++num_started;
          if (++num_ended == kNumRequests) changed.notify_one();
        }
        if (is_more) next(into);
      });
    };
    num_started = kNumInFlight;
    for (auto& into : memory) next(into);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return num_ended == kNumRequests; });
  }
  count(state, state.range(0));
}

void BM_HttpClient(benchmark::State& state) {
  const ServerProcess server(static_cast<size_t>(state.range(0)));
  const auto client = make_curl_client(curl_library());
  keep_in_flight(state, [&](std::span<std::byte> into, auto done) {
    client->send({.url = server.url(), .into = into}, [=](const HttpResponse& response) {
      done(response.num_bytes == static_cast<int64_t>(into.size()));
    });
  });
}

void BM_ReadRange(benchmark::State& state) {
  const ServerProcess server(static_cast<size_t>(state.range(0)));
  Requester requester(make_curl_client(curl_library()));
  keep_in_flight(state, [&](std::span<std::byte> into, auto done) {
    requester.read_range(
        {.address = "s3://b/k", .into = into},
        [&](int) { return HttpRequest{.url = server.url()}; }, judge_by_status,
        [=](const std::exception_ptr& error) { done(error == nullptr); });
  });
}

BENCHMARK(BM_BareMulti)->Arg(110'000)->Arg(8 << 20)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_HttpClient)->Arg(110'000)->Arg(8 << 20)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_ReadRange)->Arg(110'000)->Arg(8 << 20)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace ffkit

BENCHMARK_MAIN();
