#include "http/http_client.h"

#include <atomic>
#include <future>

namespace ffkit {

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
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

}  // namespace ffkit
