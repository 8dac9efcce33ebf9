// What an answer means for its request: that it is done, is to be repeated, or has failed;
// and whether it has the bytes that were asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>

#include "http/http_client.h"
#include "storage/requests/object_facts.h"

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

  static Verdict failed(const Error& error) {
    return {.kind = Kind::fail, .error = std::make_exception_ptr(error)};
  }
  // Whether the answer to a read is an error that the store knows best: what the Requester says of
  // 412 and 416 is right for every store.
  bool is_refusal(const HttpResponse& response) const {
    return kind == Kind::done && response.status != 412 && response.status != 416;
  }
};

// Judges whole answers, whose status is not 0. Called in the client's thread, and must be short.
using Judge = std::function<Verdict(const HttpResponse&)>;

// Whether a store says by this <Code> that the same request may go well later, as botocore has it.
bool is_passing_code(std::string_view code);

// Repeats 408, 429, every 5xx but 501 and 505, which say that the server cannot, and what AWS' own
// tools repeat by the <Code> of a 400; after the seconds that Retry-After or RateLimit has. 429,
// 503 and codes of throttling also throttle. All others are done.
Verdict judge_by_status(const HttpResponse& response);

// The seconds from `now_s`, in seconds since 1970, that a Retry-After says: "120", or a date
// "Fri, 31 Dec 1999 23:59:59 GMT". 0 for what has passed. Nothing for other text.
std::optional<double> retry_after_s(std::string_view text, int64_t now_s);

// The seconds until requests are taken again, of a RateLimit header as the Hugging Face hub sends
// it: `"api";r=0;t=55`. Nothing while some are left.
std::optional<double> rate_limit_s(std::string_view text);

// What a store says of itself, fit for a message: its <Code> and <Message>, or the first 200 bytes.
std::string words_of(const std::string& body);
// "status 503 (SlowDown: Please reduce your request rate.)".
std::string status_and_words(const HttpResponse& response);

// One attempt at a part of a RangeOfObject.
struct AskedRange {
  std::string address;
  int64_t first = 0;
  int64_t num_bytes = 0;
  ObjectFacts known;
  bool is_version_of_attempt = false;  // that of an earlier attempt: the caller wants any

  int64_t last() const { return first + num_bytes - 1; }
};

struct RangeAnswer {
  enum class Kind : uint8_t {
    whole,    // all bytes are there
    part,     // `num_good` from the first on are
    restart,  // the object has changed between attempts, and any version is wanted
    fail,     // with `error`
    other,    // a status that is not about ranges
  };
  Kind kind = Kind::other;
  int64_t num_good = 0;
  std::string reason;  // of what is not whole
  std::exception_ptr error;
};

// A server may ignore ranges, If-Match or both, and say so in its answer alone.
RangeAnswer judge_range(const HttpResponse& response, const AskedRange& asked);

// "Range: bytes=0-9", and If-Match where the version is one for it: a weak ETag (W/"...") matches
// nothing by RFC 9110, and is compared by judge_range() alone.
std::vector<std::string> range_headers(const AskedRange& asked);

struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t total = -1;  // -1: unknown ("*")
};
// Of "bytes 0-9/100".
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace ffkit
