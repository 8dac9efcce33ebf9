#include "protocol/s3_requests.h"

#include <fmt/format.h>

#include <utility>

#include "addresses/place.h"
#include "addresses/url.h"

namespace ffkit {
namespace {

// What a store says when it wants the same request once more.
bool is_passing(const Refusal& refusal) {
  return is_passing_code(refusal.code) || refusal.code == "OperationAborted" ||
         refusal.code == "ConditionalRequestConflict";
}

std::string bucket_address(const S3Settings& settings) {
  return with_mark(fmt::format("{}://{}{}{}/", settings.scheme, settings.account,
                               settings.account.empty() ? "" : "/", settings.bucket),
                   settings.mark);
}

}  // namespace

S3Requests::S3Requests(S3Settings settings, std::shared_ptr<HttpClient> client,
                       const RequestPolicy& policy)
    : state_(std::make_shared<State>()),
      requester_(std::make_shared<Requester>(std::move(client), policy)) {
  state_->region = settings.region;
  state_->settings = std::move(settings);
}

std::string S3Requests::address_of(std::string_view key) const {
  return bucket_address(settings()).append(key);
}

HttpRequest S3Requests::make(State& state, const S3Call& call, Attempts& attempts) {
  std::string region;
  {
    const std::lock_guard lock(state.mutex);
    region = state.region;
  }
  HttpRequest request;
  request.method = call.method;
  request.url = url_of(state.settings, region, call.key, call.query);
  request.headers = call.headers;
  for (const std::string& header : state.settings.headers) request.headers.push_back(header);
  request.body = call.body;
  request.max_body_bytes = call.max_body_bytes;
  request.ca_file = state.settings.ca_file;
  request.stall_limit_s = call.stall_limit_s;
  request.is_sent_once = call.is_sent_once;
  Authorizer::Used used;
  try {
    used = state.settings.authorizer->authorize(request, region.empty() ? "us-east-1" : region);
  } catch (const Error& e) {
    throw e.within({.path = bucket_address(state.settings) + call.key});
  }
  const std::lock_guard lock(attempts.mutex);
  attempts.used = std::move(used);
  ++attempts.num_made;
  return request;
}

Verdict S3Requests::judge(State& state, Attempts& attempts, const HttpResponse& response) {
  Verdict again{.kind = Verdict::Kind::repeat};
  if (response.status < 300) {
    // The end of an upload in parts may be an error with status 200.
    const bool may_be_error = response.body.find("<Error>") != std::string::npos;
    return may_be_error && is_passing(refusal_of(response)) ? again : Verdict();
  }
  const Refusal refusal = refusal_of(response);
  const std::lock_guard lock(attempts.mutex);
  if (!refusal.region.empty() && state.settings.endpoint.empty()) {
    const std::lock_guard state_lock(state.mutex);
    const bool is_elsewhere = refusal.region != state.region;
    if (is_elsewhere && (response.status == 301 || response.status == 307 ||
                         response.status == 400 || response.status == 403)) {
      if (++attempts.num_moves > 2) return {};
      state.region = refusal.region;
      return again;
    }
    // Another request has found the region meanwhile.
    if (response.status == 301 && ++attempts.num_moves <= 2) return again;
  }
  if (has_expired(response, refusal)) {
    const bool is_first = ++attempts.num_renewals == 1;
    if (is_first && state.settings.authorizer->refuse(attempts.used)) return again;
    return {};
  }
  if (is_passing(refusal)) {
    Verdict verdict = judge_by_status(response);
    verdict.kind = Verdict::Kind::repeat;
    return verdict;
  }
  return judge_by_status(response);
}

HttpResponse S3Requests::fetch(const S3Call& call, int* num_sent) {
  const auto attempts = std::make_shared<Attempts>();
  HttpResponse response = requester_->fetch(
      address_of(call.key),
      [state = state_, &call, attempts](int) { return make(*state, call, *attempts); },
      [state = state_, attempts](const HttpResponse& answer) {
        return judge(*state, *attempts, answer);
      });
  if (num_sent != nullptr) *num_sent = attempts->num_made;
  return response;
}

void S3Requests::send(const S3Call& call, Requester::Done done) {
  const auto attempts = std::make_shared<Attempts>();
  requester_->send(
      address_of(call.key),
      [state = state_, call, attempts](int) { return make(*state, call, *attempts); },
      [state = state_, attempts](const HttpResponse& answer) {
        return judge(*state, *attempts, answer);
      },
      std::move(done));
}

void S3Requests::read_range(const std::string& key, RangeOfObject range,
                            Requester::RangeDone done) {
  const auto attempts = std::make_shared<Attempts>();
  range.address = address_of(key);
  S3Call call;
  call.key = key;
  requester_->read_range(
      range, [state = state_, call, attempts](int) { return make(*state, call, *attempts); },
      [state = state_, attempts, address = range.address](const HttpResponse& answer) {
        Verdict verdict = judge(*state, *attempts, answer);
        if (!verdict.is_refusal(answer)) return verdict;
        return Verdict::failed(error_of_failure(failure_in(*state, answer), address, "read"));
      },
      std::move(done));
}

Failure S3Requests::failure_in(const State& state, const HttpResponse& response) {
  std::string region;
  {
    const std::lock_guard lock(state.mutex);
    region = state.region;
  }
  const Url url = parse_url(url_of(state.settings, region, "", ""), "the endpoint");
  return failure_of(response, {.whose = state.settings.authorizer->whose(),
                               .bucket = state.settings.bucket,
                               .host = url.host,
                               .variables = state.settings.variables,
                               .is_https = url.is_https});
}

Error S3Requests::failure(const HttpResponse& response, const std::string& key,
                          std::string_view done) const {
  return error_of_failure(failure_in(*state_, response), address_of(key), done);
}

}  // namespace ffkit
