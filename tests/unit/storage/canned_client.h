// A client that answers by a function, in the thread that asks, and remembers what was asked.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "credentials/surroundings.h"
#include "http/http_client.h"

namespace ffkit::testing {

struct Asked {
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

class FakeClient : public HttpClient {
 public:
  using Answer = std::function<HttpResponse(const Asked&)>;

  explicit FakeClient(Answer answer) : answer_(std::move(answer)) {}

  void send(HttpRequest request, Done done) override {
    const auto* body = reinterpret_cast<const char*>(request.body.data());
    const Asked asked{request.method, request.url, request.headers,
                      std::string(body, request.body.size())};
    HttpResponse response;
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(asked);
      response = answer_(asked);
    }
    const bool goes_into = response.status == 200 || response.status == 206;
    response.num_bytes = static_cast<int64_t>(response.body.size());
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
    done(std::move(response));
  }

  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<Asked> asked_;
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
    client = std::make_shared<FakeClient>([](const Asked&) { return answer_of(0); });
  }
  return {.variable =
              [variables = std::move(variables)](const std::string& name) {
                const auto found = variables.find(name);
                return found == variables.end() ? std::string() : found->second;
              },
          .home = std::move(home),
          .client = [client] { return client; },
          .now = [] { return kNow; },
          .run = [](const std::string& command) { return "output of " + command; }};
}

}  // namespace ffkit::testing
