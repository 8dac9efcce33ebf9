// What an answer means for its request: that it is done, is to be repeated, or has failed.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/http_client.h"

namespace ffkit {

struct Verdict {
  enum class Kind : uint8_t {
    done,    // this is the answer, whatever its status
    repeat,  // the store may answer otherwise the next time
    fail,    // with `error`
  };
  Kind kind = Kind::done;
  double wait_s = 0;          // repeat: at least so long afterwards
  bool is_throttled = false;  // repeat: fewer requests at a time, too
  std::exception_ptr error;
};

// Judges whole answers, whose status is not 0. Called in the client's thread, and must be short.
using Judge = std::function<Verdict(const HttpResponse&)>;

// Repeats 408, 429, 500, 502, 503 and 504, after the seconds that Retry-After has. 429 and 503 also
// throttle. All others are done.
Verdict judge_by_status(const HttpResponse& response);

// The seconds from `now_s`, in seconds since 1970, that a Retry-After says: "120", or a date
// "Fri, 31 Dec 1999 23:59:59 GMT". 0 for what has passed. Nothing for other text.
std::optional<double> retry_after_s(std::string_view text, int64_t now_s);

// What a store says of itself, fit for a message: its <Code> and <Message>, or the first 200 bytes.
std::string words_of(const std::string& body);
// "status 503 (SlowDown: Please reduce your request rate.)".
std::string status_and_words(const HttpResponse& response);

}  // namespace ffkit
