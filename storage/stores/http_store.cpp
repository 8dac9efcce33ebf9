#include <utility>

#include "addresses/place.h"
#include "addresses/signatures.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

Error no_such_thing(const char* what, const std::string& address) {
  return error_at(shown_address(address), ErrorCode::unsupported, "a web server cannot be {}", what)
      .with_subject(ErrorSubject::argument)
      .with_remedy("use an address such as s3:// or gs://, or a local copy");
}

HttpRequest request_of(const std::string& address, const char* method) {
  HttpRequest request;
  request.method = method;
  Url url = parse_url(address, "the address");
  if (url.query.empty()) url.query = signature_of(url);
  request.url = url.text();
  request.follow_redirects = true;
  return request;
}

Error error_of_page(const HttpResponse& response, const std::string& address, const char* done) {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string remedy;
  if (response.status == 404 || response.status == 410) {
    code = ErrorCode::not_found;
    remedy = "check the address";
  } else if (response.status == 401 || response.status == 403) {
    remedy = "check the address, and sign the address again if its signature has expired";
  } else if (response.status >= 500 || response.status == 429) {
    code = ErrorCode::io;
    remedy = "try again later";
  }
  return {code,
          fmt::format("this address cannot be {}: the server answers with {}", done,
                      status_and_words(response)),
          {.path = shown_address(address), .remedy = remedy}};
}

constexpr std::string_view kNobodysName = "ffkit-looks-whether-names-are-known";

bool is_page(const HttpResponse& response) {
  return begins_without_case(response.header("content-type"), "text/html");
}

// Whether the length is that of a compressed form, which ranges do not have.
bool is_encoded(const HttpResponse& response) {
  const std::string_view encoding = response.header("content-encoding");
  return !encoding.empty() && encoding != "identity";
}

bool has_page_name(const std::string& address) {
  const std::string path = parse_url(address, "the address").path;
  return path.ends_with(".html") || path.ends_with(".htm");
}

// The same folder and query.
std::string with_name(const std::string& address, std::string_view name) {
  Url url = parse_url(address, "the address");
  url.path = url.path.substr(0, url.path.rfind('/') + 1).append(name);
  return url.text();
}

class HttpStore : public ReadOnlyStore {
 public:
  HttpStore(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
      : requester_(std::make_shared<Requester>(std::move(client), policy)) {}

  std::string read_all(const std::string& address, int64_t max_bytes) override {
    HttpResponse response = requester_->fetch(shown_address(address), [&](int) {
      HttpRequest request = request_of(address, "GET");
      request.max_body_bytes = max_bytes;
      return request;
    });
    if (!response.is_success()) throw error_of_page(response, address, "read");
    if (is_page_for_all(address, response)) {
      throw Error(ErrorCode::not_found,
                  "the file does not exist: the server answers with the same page (text/html) for "
                  "every name",
                  {.path = shown_address(address), .remedy = "check the address"});
    }
    return std::move(response.body);
  }

  // By HEAD, or by a range of one byte where that is refused: an address that is signed for GET.
  std::optional<ObjectFacts> find(const std::string& address) override {
    const HttpResponse head =
        requester_->fetch(shown_address(address), [&](int) { return request_of(address, "HEAD"); });
    if (head.status == 404 || head.status == 410) return std::nullopt;
    if (head.is_success() && is_page_for_all(address, head)) return std::nullopt;
    ObjectFacts facts{0, std::string(head.header("etag"))};
    if (const auto length = head.number("content-length");
        head.is_success() && length && !is_encoded(head)) {
      facts.num_bytes = *length;
      return facts;
    }
    const HttpResponse first = requester_->fetch(shown_address(address), [&](int) {
      HttpRequest request = request_of(address, "GET");
      request.headers.emplace_back("Range: bytes=0-0");
      request.max_body_bytes = 1 << 20;
      return request;
    });
    if (first.status == 404 || first.status == 410) return std::nullopt;
    facts.version = first.header("etag");
    const auto range = parse_content_range(first.header("content-range"));
    // An empty file has no first byte: "bytes */0".
    if (first.status == 416 && first.header("content-range").ends_with("/0")) return facts;
    if (!first.is_success()) throw error_of_page(first, address, "examined");
    if (first.status != 206 || !range || range->total < 0) {
      throw Error(ErrorCode::unsupported,
                  "the server does not give the length of the file, or does not support ranges",
                  {.path = shown_address(address), .remedy = "download it and read the copy"});
    }
    facts.num_bytes = range->total;
    return facts;
  }

  Listing list(const std::string& address, bool /*recursive*/) override {
    throw no_such_thing("listed", address);
  }

 protected:
  void read_range(RangeOfObject range, Done done) override {
    const std::string address = std::exchange(range.address, shown_address(range.address));
    begin_read(done, [&] {
      requester_->read_range(
          range, [address](int) { return request_of(address, "GET"); },
          [address](const HttpResponse& response) {
            Verdict verdict = judge_by_status(response);
            if (!verdict.is_refusal(response)) return verdict;
            return Verdict::failed(error_of_page(response, address, "read"));
          },
          done);
    });
  }

  Error no_writing(const std::string& address) const override {
    return no_such_thing("written to", address);
  }

 private:
  // Whether it is the page that the server sends, with status 200, for names that are not there.
  bool is_page_for_all(const std::string& address, const HttpResponse& answer) {
    if (!is_page(answer) || has_page_name(address)) return false;
    const std::string nobodys = with_name(address, kNobodysName);
    const HttpResponse page =
        requester_->fetch(shown_address(nobodys), [&](int) { return request_of(nobodys, "HEAD"); });
    return page.is_success() && is_page(page);
  }

  const std::shared_ptr<Requester> requester_;
};

}  // namespace

std::shared_ptr<ObjectStore> make_http_store(std::shared_ptr<HttpClient> client,
                                             const RequestPolicy& policy) {
  return std::make_shared<HttpStore>(std::move(client), policy);
}

}  // namespace ffkit
