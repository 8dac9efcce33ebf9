// A client that answers by a function, in a thread of its own, and remembers what was asked.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "credentials/surroundings.h"
#include "http/http_client.h"

namespace ffkit::testing {

struct SentRequest {
  std::string method;
  std::string url;
  std::vector<std::string> headers;
  std::string body;

  // The value of a header, by its name as it was sent; empty without it.
  std::string header(const std::string& name) const {
    for (const std::string& line : headers) {
      if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
    }
    return {};
  }
};

class CannedClient : public HttpClient {
 public:
  using Answer = std::function<HttpResponse(const SentRequest&)>;

  explicit CannedClient(Answer answer) : answer_(std::move(answer)) {}
  ~CannedClient() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    has_sent_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void send(HttpRequest request, Done done) override {
    const std::lock_guard lock(mutex_);
    sent_.emplace_back(std::move(request), std::move(done));
    if (!thread_.joinable()) thread_ = std::thread([this] { answer_all(); });
    has_sent_.notify_all();
  }

  std::vector<SentRequest> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void answer_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      has_sent_.wait(lock, [&] { return is_ending_ || !sent_.empty(); });
      if (sent_.empty()) return;
      const auto [request, done] = std::move(sent_.front());
      sent_.pop_front();
      const auto* body = reinterpret_cast<const char*>(request.body.data());
      asked_.push_back(
          {request.method, request.url, request.headers, std::string(body, request.body.size())});
      const SentRequest asked = asked_.back();
      lock.unlock();
      done(answer_to(request, asked));
      lock.lock();
    }
  }

  HttpResponse answer_to(const HttpRequest& request, const SentRequest& asked) const {
    HttpResponse response = answer_(asked);
    response.seen_status = response.status;
    response.num_bytes = static_cast<int64_t>(response.body.size());
    const bool goes_into = response.status == 200 || response.status == 206;
    if (goes_into && !request.into.empty()) {
      const size_t size = std::min(request.into.size(), response.body.size());
      std::copy_n(reinterpret_cast<const std::byte*>(response.body.data()), size,
                  request.into.data());
      if (response.body.size() > request.into.size()) {
        response.status = 0;
        response.failure = "the answer is too long";
      }
      response.body.clear();
    }
    return response;
  }

  mutable std::mutex mutex_;
  std::condition_variable has_sent_;
  std::deque<std::pair<HttpRequest, Done>> sent_;
  bool is_ending_ = false;
  Answer answer_;
  std::vector<SentRequest> asked_;
  std::thread thread_;
};

inline HttpResponse answer_of(int status, std::string body = "",
                              std::vector<std::pair<std::string, std::string>> headers = {}) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  response.headers = std::move(headers);
  if (status == 0) response.failure = "could not connect to server";
  return response;
}

// 2026-11-26T22:00:00Z.
inline const Moment kNow = Moment(std::chrono::seconds(1795730400));

// Surroundings with these variables alone, and nobody who answers but `client`.
inline Surroundings surroundings_of(std::map<std::string, std::string> variables,
                                    std::shared_ptr<HttpClient> client = nullptr,
                                    std::filesystem::path home = "/nonexistent") {
  if (client == nullptr) {
    client = std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(0); });
  }
  return {.variable =
              [variables = std::move(variables)](const std::string& name) {
                const auto found = variables.find(name);
                return found == variables.end() ? std::string() : found->second;
              },
          .home = std::move(home),
          .client = [client] { return client; },
          .now = [] { return kNow; },
          .run = [](const std::string& command) { return "output of " + command; },
          .wait = [](std::chrono::milliseconds) {}};
}

}  // namespace ffkit::testing
