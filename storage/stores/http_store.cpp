#include "stores/http_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "addresses/address.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "stores/told.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_to(const char* what, const std::string& address) {
  throw Error(ErrorCode::unsupported, fmt::format("a web server cannot be {}", what),
              {.path = shown_address(address),
               .subject = ErrorSubject::argument,
               .remedy = "use an address of s3:// or gs://, or a copy of it"});
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

std::optional<int64_t> length_in(std::string_view text) {
  int64_t length = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || length < 0) return std::nullopt;
  return length;
}

bool is_page(const HttpResponse& response) {
  return response.status >= 200 && response.status < 300;
}

}  // namespace

HttpStore::HttpStore(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
    : requester_(std::make_shared<Requester>(std::move(client), policy)) {}

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
  if (!is_page(response)) throw error_of_page(response, address, "read");
  return std::move(response.body);
}

std::optional<ObjectFacts> HttpStore::find(const std::string& address) {
  const HttpResponse head =
      requester_->fetch(shown_address(address), [&](int) { return request_of(address, "HEAD"); });
  if (head.status == 404 || head.status == 410) return std::nullopt;
  ObjectFacts facts{0, std::string(head.header("etag"))};
  if (const auto length = length_in(head.header("content-length")); is_page(head) && length) {
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
  if (!is_page(first)) throw error_of_page(first, address, "looked for");
  if (first.status != 206 || !range || range->total < 0) {
    throw Error(ErrorCode::unsupported,
                "the server does not say how long it is, or knows no ranges",
                {.path = shown_address(address), .remedy = "download it and read the copy"});
  }
  facts.num_bytes = range->total;
  return facts;
}

Listing HttpStore::list(const std::string& address, bool /*recursive*/) {
  refuse_to("listed", address);
}

bool HttpStore::put(const std::string& address, std::span<const std::byte> /*bytes*/,
                    bool /*only_if_new*/) {
  refuse_to("written to", address);
}

std::unique_ptr<Upload> HttpStore::upload(const std::string& address, int64_t /*expected_bytes*/) {
  refuse_to("written to", address);
}

void HttpStore::remove(const std::string& address) {
  refuse_to("written to", address);
}

std::vector<UnfinishedUpload> HttpStore::list_uploads(const std::string& address) {
  refuse_to("written to", address);
}

void HttpStore::abort_upload(const UnfinishedUpload& upload) {
  refuse_to("written to", upload.address);
}

}  // namespace ffkit
