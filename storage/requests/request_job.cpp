#include "requests/request_job.h"

#include <cstring>
#include <utility>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

AttemptResult failed_attempt(std::exception_ptr error) {
  return {.kind = AttemptResult::Kind::fail, .error = std::move(error)};
}

AttemptResult failed_attempt(const RequestJob& job, const std::string& message,
                             const std::string& remedy = "") {
  return failed_attempt(std::make_exception_ptr(
      Error(ErrorCode::io, message, {.path = job.address, .remedy = remedy})));
}

AttemptResult result_of_status(const RequestJob& job, const HttpResponse& response) {
  Verdict verdict;
  try {
    verdict = job.judge(response);
  } catch (const std::exception&) {
    return failed_attempt(std::current_exception());
  }
  AttemptResult result{.wait_s = verdict.wait_s, .is_throttled = verdict.is_throttled};
  switch (verdict.kind) {
    case Verdict::Kind::done:
      break;
    case Verdict::Kind::repeat:
      result.kind = AttemptResult::Kind::repeat;
      result.reason = "the store answers with " + status_and_words(response);
      break;
    case Verdict::Kind::fail:
      if (verdict.error != nullptr) return failed_attempt(verdict.error);
      return failed_attempt(job, "the store answers with " + status_and_words(response));
  }
  return result;
}

AttemptResult result_of_range(const RequestJob& job, const HttpResponse& response) {
  if (response.seen_status != 200 && response.seen_status != 206) {
    AttemptResult result = result_of_status(job, response);
    if (result.kind != AttemptResult::Kind::done) return result;
  }
  const RangeAnswer answer = judge_range(response, job.asked());
  switch (answer.kind) {
    case RangeAnswer::Kind::whole:
      return {.num_good = answer.num_good, .version = std::string(response.header("etag"))};
    case RangeAnswer::Kind::part: {
      AttemptResult result{.kind = AttemptResult::Kind::repeat, .reason = answer.reason};
      // The rest must be of the same version, which a weak ETag does not promise.
      const std::string_view etag = response.header("etag");
      const bool is_certain = !etag.empty() && !etag.starts_with("W/");
      if (!job.range->known.version.empty() || is_certain) {
        result.num_good = answer.num_good;
        result.version = etag;
      }
      return result;
    }
    case RangeAnswer::Kind::restart:
      return {
          .kind = AttemptResult::Kind::repeat, .reason = answer.reason, .is_of_any_version = true};
    case RangeAnswer::Kind::fail:
      return failed_attempt(answer.error);
    case RangeAnswer::Kind::other:
      break;
  }
  return failed_attempt(job, "the store answers with " + status_and_words(response));
}

}  // namespace

AskedRange RequestJob::asked() const {
  AskedRange asked{.address = address,
                   .first = range->offset + num_there,
                   .num_bytes = static_cast<int64_t>(range->into.size()) - num_there,
                   .known = range->known};
  if (asked.known.version.empty() && !version_there.empty()) {
    asked.known.version = version_there;
    asked.is_version_of_attempt = true;
  }
  return asked;
}

HttpRequest RequestJob::request(bool is_second) const {
  HttpRequest request = make(attempt);
  request.ticket = is_second ? second.ticket : first.ticket;
  if (range) {
    for (std::string& header : range_headers(asked())) {
      request.headers.push_back(std::move(header));
    }
    request.into = is_second ? std::span(second_into.get(), rest().size()) : rest();
  }
  if (const auto sign = std::exchange(request.sign, nullptr)) sign(request);
  return request;
}

void RequestJob::tell(HttpResponse response) {
  // What the functions hold is the caller's, and not to be kept by timers of this job.
  make = nullptr;
  judge = nullptr;
  if (range) {
    if (range->found_version != nullptr) *range->found_version = version_there;
    std::exchange(range_done, nullptr)(std::move(error));
  } else {
    std::exchange(done, nullptr)(std::move(response), std::move(error));
  }
}

AttemptResult result_of(const RequestJob& job, const HttpResponse& response) {
  // Of a range whose answer has no end, a part may be there.
  const bool may_have_part =
      job.range && (response.seen_status == 200 || response.seen_status == 206);
  if (response.status == 0 && !may_have_part) {
    if (!response.is_cut) return failed_attempt(job, response.failure);
    return {.kind = AttemptResult::Kind::repeat, .reason = response.failure};
  }
  return job.range ? result_of_range(job, response) : result_of_status(job, response);
}

Error last_attempt_failed(const RequestJob& job, const AttemptResult& result) {
  const std::string attempts =
      job.attempt == 1 ? "the only attempt" : fmt::format("the last of {} attempts", job.attempt);
  return error_at(job.address, ErrorCode::io, "{} failed: {}", attempts, result.reason)
      .with_remedy((result.is_throttled
                        ? "use fewer readers, because the store limits the number of requests, or "
                          "raise "
                        : "check the store and the network, or raise ") +
                   option_name("retry_seconds"));
}

std::exception_ptr requester_ended(const std::string& address) {
  return std::make_exception_ptr(Error(ErrorCode::cancelled,
                                       "the request was cancelled because its reader was closed",
                                       {.path = address}));
}

}  // namespace ffkit
