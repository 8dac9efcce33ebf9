// What is sent back.
#pragma once

#include <string>
#include <string_view>

namespace ffkit::http {

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  bool may_be_kept = false;    // by the browser, for an hour
  std::string file_name = {};  // not empty: the browser saves it under this name
  std::string location = {};   // of status 308: where it is
  std::string nonce = {};      // of style and scripts that stand in the page itself
};

// The bytes of the answer's head, its empty line included, with what keeps the page to itself:
// nothing is loaded from elsewhere, framed, sniffed or referred.
std::string response_head(const Response& response, bool keep_alive);

}  // namespace ffkit::http
