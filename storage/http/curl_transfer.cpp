#include "http/curl_transfer.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include <ffkit/base/version.h>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

// A read and a callback for so many bytes: 16 KiB, libcurl's own, takes a tenth longer.
constexpr long kReceiveBytes = 256 << 10;
constexpr long kSendBytes = 256 << 10;
constexpr size_t kMaxHeaderBytes = 256 << 10;
constexpr long kMaxRedirects = 10;
// After so many seconds without use, connections are asked whether they are still there.
constexpr long kKeepAliveSeconds = 30;

// Failures of the way there and back, which may be others the next time. libcurl does not tell a
// name that does not exist from a name server that does not answer.
bool is_cut_by(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_AGAIN:
      return true;
    default:
      return false;
  }
}

bool has_header(const std::vector<std::string>& headers, std::string_view name) {
  return std::ranges::any_of(headers, [&](const std::string& header) {
    const size_t colon = header.find(':');
    return colon == name.size() && in_lower_case(std::string_view(header).substr(0, colon)) == name;
  });
}

double seconds_between(CurlTransfer::Clock::time_point from, CurlTransfer::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

CurlTransfer::Clock::duration clock_seconds(double seconds) {
  // A year is as good as no limit, and does not overflow.
  return std::chrono::duration_cast<CurlTransfer::Clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 366 * 86400.0)));
}

}  // namespace

std::string_view host_of_url(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const size_t user = url.rfind('@');
  return user == std::string_view::npos ? url : url.substr(user + 1);
}

CurlTransfer::CurlTransfer(const CurlLibrary& curl, CURLSH* share, const std::string& ca_file)
    : curl_(curl), handle_(curl.easy_init()), ca_file_(ca_file) {
  if (handle_ == nullptr) throw std::bad_alloc();
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_SHARE, share);
  set(CURLOPT_ERRORBUFFER, error_words_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_MAXREDIRS, kMaxRedirects);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  set(CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  set(CURLOPT_BUFFERSIZE, kReceiveBytes);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kSendBytes);
  set(CURLOPT_USERAGENT, "ffkit/" FFKIT_VERSION);
  if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_READFUNCTION, &CurlTransfer::on_upload);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_SEEKFUNCTION, &CurlTransfer::on_seek);
  set(CURLOPT_SEEKDATA, this);
  // These options are there since 7.68 at the latest, whatever libcurl was built with.
  if (refused_option_ != CURLE_OK) {
    curl_.easy_cleanup(handle_);
    throw error_at(curl.path, ErrorCode::unsupported, "libcurl refuses an option ({})",
                   curl.easy_strerror(refused_option_));
  }
}

CurlTransfer::~CurlTransfer() {
  curl_.easy_cleanup(handle_);
  curl_.slist_free_all(headers_);
}

template <typename... Value>
void CurlTransfer::set(CURLoption option, Value... value) {
  const CURLcode code = curl_.easy_setopt(handle_, option, value...);
  if (code != CURLE_OK && refused_option_ == CURLE_OK) refused_option_ = code;
}

CurlTransfer* CurlTransfer::of(const CurlLibrary& curl, CURL* handle) {
  char* transfer = nullptr;
  curl.easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
  return reinterpret_cast<CurlTransfer*>(transfer);
}

void CurlTransfer::begin(HttpRequest request, HttpClient::Done done) {
  request_ = std::move(request);
  done_ = std::move(done);
  response_ = {};
  refused_option_ = CURLE_OK;
  num_sent_ = num_header_bytes_ = 0;
  own_failure_.clear();
  error_words_[0] = '\0';
  begin_ = last_byte_ = Clock::now();
  first_byte_ = {};
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_FRESH_CONNECT, request_.is_sent_once ? 1L : 0L);
  set(CURLOPT_FOLLOWLOCATION, request_.follow_redirects ? 1L : 0L);
  // libcurl divides it among the host's addresses.
  if (request_.stall_limit_s > 0) {
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(request_.stall_limit_s, 1e6) * 1000));
  } else {
    set(CURLOPT_CONNECTTIMEOUT_MS, 0L);
  }
  // What was asked for by TLS is not answered without.
  set(CURLOPT_REDIR_PROTOCOLS, request_.url.starts_with("https:")
                                   ? static_cast<long>(CURLPROTO_HTTPS)
                                   : static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set_method();
  set_headers();
}

void CurlTransfer::set_method() {
  // This undoes the last request's NOBODY and UPLOAD.
  set(CURLOPT_HTTPGET, 1L);
  set(CURLOPT_CUSTOMREQUEST, static_cast<char*>(nullptr));
  const bool has_body =
      !request_.body.empty() || request_.method == "PUT" || request_.method == "POST";
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (has_body) {
    // CURLOPT_POST would add a Content-Type.
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    if (request_.method != "PUT") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  } else if (request_.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
}

void CurlTransfer::set_headers() {
  curl_.slist_free_all(headers_);
  headers_ = nullptr;
  const auto add = [&](const char* header) {
    curl_slist* longer = curl_.slist_append(headers_, header);
    if (longer == nullptr) throw std::bad_alloc();
    headers_ = longer;
  };
  for (const std::string& header : request_.headers) add(header.c_str());
  // "Expect: 100-continue" costs a way there and back.
  if (!request_.body.empty() && !has_header(request_.headers, "expect")) add("Expect:");
  set(CURLOPT_HTTPHEADER, headers_);
}

CurlTransfer::Clock::time_point CurlTransfer::deadline() const {
  Clock::time_point deadline = Clock::time_point::max();
  if (request_.stall_limit_s > 0) deadline = last_byte_ + clock_seconds(request_.stall_limit_s);
  if (request_.time_limit_s > 0) {
    deadline = std::min(deadline, begin_ + clock_seconds(request_.time_limit_s));
  }
  return deadline;
}

std::string CurlTransfer::overdue(Clock::time_point now) const {
  if (deadline() > now) return "";
  long num_asked_bytes = 0;
  curl_.easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &num_asked_bytes);
  const bool is_connected = num_asked_bytes > 0;
  const char* where = is_connected ? "the answer did not end" : "could not connect";
  if (request_.time_limit_s > 0 && now >= begin_ + clock_seconds(request_.time_limit_s)) {
    return with_host(fmt::format("{} within {:g} s", where, request_.time_limit_s));
  }
  if (!is_connected) {
    return with_host(fmt::format("{} within {:g} s", where, request_.stall_limit_s));
  }
  return with_host(fmt::format("no byte came for {:g} s", request_.stall_limit_s));
}

std::string CurlTransfer::with_host(const std::string& words) const {
  // libcurl names the host without its port.
  const std::string_view host_alone = std::string_view(host).substr(0, host.rfind(':'));
  if (host_alone.empty() || words.find(host_alone) != std::string::npos) return words;
  return words + " (" + host + ")";
}

HttpResponse CurlTransfer::answer() {
  const Clock::time_point now = Clock::now();
  long num_connects = 0;
  curl_.easy_getinfo(handle_, CURLINFO_NUM_CONNECTS, &num_connects);
  response_.num_connects = static_cast<int>(num_connects);
  response_.total_s = seconds_between(begin_, now);
  if (first_byte_ != Clock::time_point()) {
    response_.first_byte_s = seconds_between(begin_, first_byte_);
  }
  return std::move(response_);
}

HttpResponse CurlTransfer::end(CURLcode code) {
  if (refused_option_ != CURLE_OK) {
    return end(with_host(curl_.easy_strerror(refused_option_)), false);
  }
  if (code == CURLE_OK && response_.seen_status != 0) {
    response_.status = response_.seen_status;
    return answer();
  }
  if (!own_failure_.empty()) return end(with_host(own_failure_), false);
  std::string words = error_words_[0] != '\0' ? error_words_.data() : curl_.easy_strerror(code);
  if (code == CURLE_SSL_CACERT_BADFILE && words.find(ca_file_) == std::string::npos) {
    words += ": " + ca_file_;
  }
  return end(with_host(words), code == CURLE_OK || is_cut_by(code));
}

HttpResponse CurlTransfer::end(const std::string& failure, bool is_cut) {
  response_.status = 0;
  response_.failure = failure;
  response_.is_cut = is_cut;
  return answer();
}

HttpClient::Done CurlTransfer::release() {
  request_ = {};
  return std::exchange(done_, nullptr);
}

bool CurlTransfer::goes_into() const {
  return !request_.into.empty() && (response_.seen_status == 200 || response_.seen_status == 206);
}

size_t CurlTransfer::take_header(std::string_view line) {
  last_byte_ = Clock::now();
  if (first_byte_ == Clock::time_point()) first_byte_ = last_byte_;
  num_header_bytes_ += line.size();
  if (num_header_bytes_ > kMaxHeaderBytes) {
    own_failure_ = fmt::format("the answer's headers have more than {} bytes", kMaxHeaderBytes);
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    // Of the next answer: after "100 Continue", or a redirect.
    response_.headers.clear();
    response_.seen_status = 0;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), response_.seen_status);
    }
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    response_.headers.emplace_back(in_lower_case(trimmed(line.substr(0, colon))),
                                   std::string(trimmed(line.substr(colon + 1))));
  }
  return line.size();
}

size_t CurlTransfer::take_body(const char* bytes, size_t num_bytes) {
  last_byte_ = Clock::now();
  const auto already = static_cast<size_t>(response_.num_bytes);
  if (goes_into()) {
    if (num_bytes > request_.into.size() - already) {
      own_failure_ = fmt::format("the answer has more than the {} bytes that were asked for",
                                 request_.into.size());
      return 0;
    }
    std::memcpy(request_.into.data() + already, bytes, num_bytes);
  } else {
    if (num_bytes > static_cast<size_t>(std::max<int64_t>(request_.max_body_bytes, 0)) - already) {
      own_failure_ = fmt::format("the answer has more than {} bytes",
                                 std::max<int64_t>(request_.max_body_bytes, 0));
      return 0;
    }
    response_.body.append(bytes, num_bytes);
  }
  response_.num_bytes += static_cast<int64_t>(num_bytes);
  return num_bytes;
}

size_t CurlTransfer::give_body(char* into, size_t max_bytes) {
  last_byte_ = Clock::now();
  const size_t num_bytes = std::min(max_bytes, request_.body.size() - num_sent_);
  if (num_bytes > 0) std::memcpy(into, request_.body.data() + num_sent_, num_bytes);
  num_sent_ += num_bytes;
  return num_bytes;
}

// Memory may run out; no exception may come to libcurl, which takes 0 for a failure.
size_t CurlTransfer::on_header(char* bytes, size_t size, size_t number, void* self) {
  try {
    return static_cast<CurlTransfer*>(self)->take_header({bytes, size * number});
  } catch (const std::exception&) {
    return 0;
  }
}

size_t CurlTransfer::on_body(char* bytes, size_t size, size_t number, void* self) {
  try {
    return static_cast<CurlTransfer*>(self)->take_body(bytes, size * number);
  } catch (const std::exception&) {
    return 0;
  }
}

size_t CurlTransfer::on_upload(char* into, size_t size, size_t number, void* self) {
  return static_cast<CurlTransfer*>(self)->give_body(into, size * number);
}

int CurlTransfer::on_seek(void* self, curl_off_t offset, int origin) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  if (origin != SEEK_SET || offset < 0 ||
      static_cast<size_t>(offset) > transfer->request_.body.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer->num_sent_ = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

}  // namespace ffkit
