#include <utility>

#include "addresses/place.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

Error no_such_thing(const char* what, const std::string& address) {
  return {ErrorCode::unsupported,
          fmt::format("a web server cannot be {}", what),
          {.path = shown_address(address),
           .subject = ErrorSubject::argument,
           .remedy = "use an address of s3:// or gs://, or a copy of it"}};
}

HttpRequest request_of(const std::string& address, const char* method) {
  HttpRequest request;
  request.method = method;
  request.url = parse_url(address, "the address").text();
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
    remedy = "check the address; if it is a signed one, it may have ended";
  } else if (response.status >= 500 || response.status == 429) {
    code = ErrorCode::io;
    remedy = "try again later";
  }
  return {code,
          fmt::format("cannot be {}: {}", done, status_and_words(response)),
          {.path = shown_address(address), .remedy = remedy}};
}

class HttpStore : public ReadOnlyStore {
 public:
  HttpStore(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
      : requester_(std::make_shared<Requester>(std::move(client), policy)) {}

  std::string read_all(const std::string& address, int64_t max_bytes) override;
  // By HEAD, or by a range of one byte where that is refused: an address that is signed for GET.
  std::optional<ObjectFacts> find(const std::string& address) override;
  Listing list(const std::string& address, bool recursive) override;

 protected:
  void read_range(const std::string& address, int64_t offset, std::span<std::byte> into,
                  const std::string& version, std::shared_ptr<std::string> found,
                  Done done) override;
  Error no_writing(const std::string& address) const override {
    return no_such_thing("written to", address);
  }

 private:
  const std::shared_ptr<Requester> requester_;
};

void HttpStore::read_range(const std::string& address, int64_t offset, std::span<std::byte> into,
                           const std::string& version, std::shared_ptr<std::string> found,
                           Done done) {
  if (into.empty()) {
    done(nullptr);
    return;
  }
  RangeOfObject range;
  range.address = shown_address(address);
  range.offset = offset;
  range.into = into;
  range.version = version;
  range.found_version = std::move(found);
  begin_read(done, [&] {
    requester_->read_range(
        range, [address](int) { return request_of(address, "GET"); },
        [address](const HttpResponse& response) {
          Verdict verdict = judge_by_status(response);
          if (verdict.kind == Verdict::Kind::done && response.status != 412 &&
              response.status != 416) {
            verdict.kind = Verdict::Kind::fail;
            verdict.error = std::make_exception_ptr(error_of_page(response, address, "read"));
          }
          return verdict;
        },
        done);
  });
}

std::string HttpStore::read_all(const std::string& address, int64_t max_bytes) {
  HttpResponse response = requester_->fetch(shown_address(address), [&](int) {
    HttpRequest request = request_of(address, "GET");
    request.max_body_bytes = max_bytes;
    return request;
  });
  if (!response.is_success()) throw error_of_page(response, address, "read");
  return std::move(response.body);
}

std::optional<ObjectFacts> HttpStore::find(const std::string& address) {
  const HttpResponse head =
      requester_->fetch(shown_address(address), [&](int) { return request_of(address, "HEAD"); });
  if (head.status == 404 || head.status == 410) return std::nullopt;
  ObjectFacts facts{0, std::string(head.header("etag"))};
  if (const auto length = head.number("content-length"); head.is_success() && length) {
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
  if (!first.is_success()) throw error_of_page(first, address, "looked for");
  if (first.status != 206 || !range || range->total < 0) {
    throw Error(ErrorCode::unsupported,
                "the server does not say how long it is, or knows no ranges",
                {.path = shown_address(address), .remedy = "download it and read the copy"});
  }
  facts.num_bytes = range->total;
  return facts;
}

Listing HttpStore::list(const std::string& address, bool /*recursive*/) {
  throw no_such_thing("listed", address);
}

}  // namespace

std::shared_ptr<ObjectStore> make_http_store(std::shared_ptr<HttpClient> client,
                                             const RequestPolicy& policy) {
  return std::make_shared<HttpStore>(std::move(client), policy);
}

}  // namespace ffkit
