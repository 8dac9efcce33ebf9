// CurlTransfer: one request at a time by one easy handle, which is used again and again. Belongs to
// the client's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "http/curl_library.h"
#include "http/http_client.h"

namespace ffkit {

class CurlTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  // `ca_file` is empty for libcurl's own certificates.
  CurlTransfer(const CurlLibrary& curl, CURLSH* share, const std::string& ca_file);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  CURL* handle() const { return handle_; }
  // The transfer of a handle that a multi handle names.
  static CurlTransfer* of(const CurlLibrary& curl, CURL* handle);

  // Readies the handle for a request.
  void begin(HttpRequest request, HttpClient::Done done);
  uint64_t ticket() const { return request_.ticket; }
  const std::string& ca_file() const { return ca_file_; }
  // When the request is to be broken off unless a byte comes before; and the reason, when that was
  // before `now`.
  Clock::time_point deadline() const;
  std::string overdue(Clock::time_point now) const;

  // The answer, after the handle has been taken out of the multi handle: of a request that came to
  // its end with `code`, or was ended by us for the reason `failure`.
  HttpResponse end(CURLcode code);
  HttpResponse end(const std::string& failure, bool is_cut);
  // Gives the request's memory free, and returns whom to tell.
  HttpClient::Done release();

  size_t place = 0;  // among the active ones of its client
  std::string host;  // of the request, with its port

 private:
  void set_method();
  void set_headers();
  HttpResponse answer();
  std::string with_host(const std::string& words) const;
  template <typename... Value>
  void set(CURLoption option, Value... value);

  size_t take_header(std::string_view line);
  size_t take_body(const char* bytes, size_t num_bytes);
  size_t give_body(char* into, size_t max_bytes);
  bool goes_into() const;

  static size_t on_header(char* bytes, size_t size, size_t number, void* self);
  static size_t on_body(char* bytes, size_t size, size_t number, void* self);
  static size_t on_upload(char* into, size_t size, size_t number, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);

  const CurlLibrary& curl_;
  CURL* handle_ = nullptr;
  const std::string ca_file_;
  std::array<char, CURL_ERROR_SIZE> error_words_{};

  HttpRequest request_;
  HttpClient::Done done_;
  HttpResponse response_;
  curl_slist* headers_ = nullptr;
  CURLcode refused_option_ = CURLE_OK;
  size_t num_sent_ = 0;
  size_t num_header_bytes_ = 0;
  std::string own_failure_;  // why a callback ended the request
  Clock::time_point begin_, first_byte_, last_byte_;
};

// The host of a URL with its port: "bucket.example.org:8080".
std::string_view host_of_url(std::string_view url);

}  // namespace ffkit
