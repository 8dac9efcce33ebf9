// The HttpClient of libcurl's multi interface: one thread that has all requests in flight.
#pragma once

#include <memory>
#include <string>

#include "http/curl_library.h"
#include "http/http_client.h"

namespace ffkit {

struct CurlClientOptions {
  // Of one host; further requests wait for one to end, and none of their limits runs meanwhile.
  int max_connections_per_host = 256;
  std::string ca_file;  // empty: libcurl's own certificates
};

// Destroying it ends what is running as failures and waits for the thread; from a `done`, it does
// not wait. In a child of fork() it sends nothing, and destroying it leaves everything as it is.
// Throws Error(io) where no thread can be started.
std::shared_ptr<HttpClient> make_curl_client(const CurlLibrary& curl,
                                             const CurlClientOptions& options = {});

}  // namespace ffkit
