// Requests that are repeated, throttled and ended, against a server with faults.
#include "requests/requests.h"

#include "base/machine/wait_check.h"
#include "faults/fault_server.h"
#include "http/curl_library.h"
#include "http/http_client.h"
#include "requests/pace.h"
#include "requests/verdict.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::FaultServer;
using Asked = FaultServer::Asked;
using Connection = FaultServer::Connection;

constexpr const char* kAddress = "s3://bucket/a.ffr";

// Without waiting to speak of, and without second requests.
RequestPolicy quick() {
  return {.max_attempts = 4, .first_backoff_s = 0.001, .max_backoff_s = 0.004, .hedge_share = 0};
}

class RequesterTest : public ::testing::Test {
 protected:
  static Requester::MakeRequest make(const FaultServer& server, const std::string& target = "/x") {
    return [url = server.url(target)](int attempt) {
      return HttpRequest{
          .url = url, .headers = {"X-Attempt: " + std::to_string(attempt)}, .stall_limit_s = 300};
    };
  }
  // So many requests at once, each of which is answered with 200.
  static void expect_answers(Requester& requester, const FaultServer& server, size_t count) {
    std::vector<std::promise<int>> answers(count);
    for (auto& answer : answers) {
      requester.send(kAddress, make(server), judge_by_status,
                     [&](const HttpResponse& response, const std::exception_ptr&) {
                       answer.set_value(response.status);
                     });
    }
    for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), 200);
  }

  std::shared_ptr<HttpClient> client_ = make_curl_client(curl_library());
};

TEST_F(RequesterTest, RepeatsUntilTheStoreIsThereAgain) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number < 2) connection.answer(503);
    // (On a connection that was in use before, libcurl itself repeats what is cut.)
    if (asked.number == 1 || asked.number == 2) return connection.close();
    if (asked.number < 2) return;
    connection.answer(200, "here");
  });
  Requester requester(client_, quick());
  const HttpResponse response = requester.fetch(kAddress, make(server));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "here");
  std::vector<std::string> attempts;
  for (const Asked& asked : server.asked()) attempts.push_back(asked.header("x-attempt"));
  EXPECT_THAT(attempts, ElementsAre("1", "2", "3", "4"));
  const RequestStatistics statistics = requester.statistics();
  EXPECT_EQ(statistics.requests, 4);
  EXPECT_EQ(statistics.retries, 3);
  EXPECT_EQ(statistics.throttled, 2);
  EXPECT_EQ(statistics.failures, 0);
  EXPECT_EQ(statistics.bytes, 4);
  EXPECT_EQ(statistics.connections, 3);
  EXPECT_EQ(statistics.in_flight_limit, 16);
}

TEST_F(RequesterTest, FinalStatusesAreAnswers) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(404, "none"); });
  Requester requester(client_, quick());
  EXPECT_EQ(requester.fetch(kAddress, make(server)).status, 404);
  EXPECT_EQ(server.num_requests(), 1);
}

TEST_F(RequesterTest, SaysWhatTheLastAttemptCameTo) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/busy") {
      return connection.answer(503,
                               "<Error><Code>SlowDown</Code><Message>Reduce your request "
                               "rate.</Message></Error>");
    }
    if (asked.target == "/broken") return connection.answer(500, "worker\ndied");
    connection.close();
  });
  Requester requester(client_, quick());
  EXPECT_ERROR(requester.fetch(kAddress, make(server, "/cut")), io, .path = kAddress);
  EXPECT_ERROR(requester.fetch(kAddress, make(server, "/busy")), io, .path = kAddress);
  EXPECT_ERROR(requester.fetch(kAddress, make(server, "/broken")), io, .path = kAddress);
  EXPECT_EQ(server.num_requests(), 12);
  EXPECT_EQ(requester.statistics().failures, 3);
  Requester impatient(client_, {.max_attempts = 1});
  EXPECT_ERROR(impatient.fetch(kAddress, make(server, "/broken")), io, .path = kAddress);
}

TEST_F(RequesterTest, WhatCanNeverWorkFailsAtOnce) {
  Requester requester(client_, quick());
  int num_made = 0;
  const auto wrong = [&](int) {
    ++num_made;
    return HttpRequest{.url = "ftp://127.0.0.1/x"};
  };
  EXPECT_ERROR_CODE(requester.fetch(kAddress, wrong), io, .path = kAddress);
  EXPECT_EQ(num_made, 1);
}

TEST_F(RequesterTest, RetryAfterIsWaitedFor) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return connection.answer(429, "", {"Retry-After: 0.2"});
    connection.answer(200);
  });
  Requester requester(client_, quick());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(requester.fetch(kAddress, make(server)).status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  // But not for ever.
  FaultServer slow([](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return connection.answer(503, "", {"Retry-After: 3600"});
    connection.answer(200);
  });
  RequestPolicy policy = quick();
  policy.retry_s = 0.05;
  Requester impatient(client_, policy);
  EXPECT_EQ(impatient.fetch(kAddress, make(slow)).status, 200);
}

TEST_F(RequesterTest, IsPatientForATimeAndSaysOnceForWhomItWaits) {
  std::atomic<bool> is_away = true;
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.target == "/x" && asked.number == 30) is_away = false;
    connection.answer(is_away ? 503 : 200);
  });
  RequestPolicy policy = quick();
  policy.max_attempts = 0;
  policy.say_after_s = 0;
  Requester requester(client_, policy);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(requester.fetch(kAddress, make(server)).status, 200);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "ffkit: waiting for s3://bucket/a.ffr, for up to 300 s: the store answers with status 503\n");
  EXPECT_EQ(server.num_requests(), 31);
}

TEST_F(RequesterTest, NoPatienceIsOneAttemptAndAStallTakesOfIt) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/stall") return connection.hang();
    connection.answer(503);
  });
  RequestPolicy policy = quick();
  policy.max_attempts = 0;
  policy.retry_s = 0;
  Requester never(client_, policy);
  EXPECT_ERROR(never.fetch(kAddress, make(server)), io, .path = kAddress);
  EXPECT_EQ(server.num_requests(), 1);
  // The first attempt stalls until the request's own limit of 0.2 s, and by then the time is over.
  policy.retry_s = 0.1;
  Requester brief(client_, policy);
  EXPECT_ERROR(brief.fetch(kAddress, make(server, "/stall")), io, .path = kAddress);
  EXPECT_EQ(server.num_requests(), 2);
}

TEST_F(RequesterTest, ACheckEndsAWaitInFlightAndBetweenAttempts) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/busy") return connection.answer(503, "", {"Retry-After: 100"});
    connection.hang();
  });
  Requester requester(client_, RequestPolicy{.hedge_share = 0});
  const WaitCheck check([&](const Wait& wait) {
    if (!wait.is_over && server.num_requests() > 0) throw Error(ErrorCode::cancelled, "stopped");
  });
  for (const std::string target : {"/hang", "/busy"}) {
    const auto make_patient = [url = server.url(target)](int) {
      return HttpRequest{.url = url, .stall_limit_s = 100};
    };
    EXPECT_ERROR(requester.fetch(kAddress, make_patient), cancelled);
    std::array<std::byte, 10> bytes{};
    EXPECT_ERROR(requester.read_range({.address = kAddress, .into = bytes}, make_patient),
                 cancelled);
  }
}

TEST_F(RequesterTest, TheJudgeDecides) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(403); });
  Requester requester(client_, quick());
  std::atomic<int> num_judged = 0;
  const Judge renewed = [&](const HttpResponse& response) -> Verdict {
    EXPECT_EQ(response.status, 403);
    return {.kind = ++num_judged < 3 ? Verdict::Kind::repeat : Verdict::Kind::done};
  };
  EXPECT_EQ(requester.fetch(kAddress, make(server), renewed).status, 403);
  EXPECT_EQ(num_judged, 3);
  const Judge refused = [](const HttpResponse&) -> Verdict {
    return {.kind = Verdict::Kind::fail,
            .error = std::make_exception_ptr(Error(ErrorCode::invalid_argument, "no key"))};
  };
  EXPECT_ERROR_CODE(requester.fetch(kAddress, make(server), refused), invalid_argument);
  const Judge broken = [](const HttpResponse&) -> Verdict {
    throw Error(ErrorCode::cancelled, "x");
  };
  EXPECT_ERROR_CODE(requester.fetch(kAddress, make(server), broken), cancelled);
}

TEST_F(RequesterTest, WhatMakeThrowsEndsTheRequest) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(500); });
  Requester requester(client_, quick());
  const Requester::MakeRequest good = make(server);
  const auto second_throws = [&](int attempt) {
    if (attempt == 2) throw Error(ErrorCode::invalid_argument, "no credentials");
    return good(attempt);
  };
  EXPECT_ERROR_CODE(requester.fetch(kAddress, second_throws), invalid_argument);
  EXPECT_EQ(server.num_requests(), 1);
  EXPECT_EQ(requester.statistics().in_flight, 0);
}

// Credentials are asked for by the same client.
TEST_F(RequesterTest, MakeMayWaitForAnotherRequestOfTheClient) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/x" && asked.number < 6) return connection.answer(500);
    connection.answer(200, asked.header("authorization"));
  });
  RequestPolicy policy = quick();
  policy.max_in_flight = 1;
  policy.max_attempts = 10;
  Requester requester(client_, policy);
  const auto with_token = [&](int) {
    const int status = client_->fetch({.url = server.url("/token")}).status;
    return HttpRequest{.url = server.url("/x"),
                       .headers = {"Authorization: " + std::to_string(status)}};
  };
  // The second request is sent by the first one's `done`, in the client's thread.
  std::promise<std::string> body;
  requester.send(kAddress, with_token, judge_by_status,
                 [&](const HttpResponse&, const std::exception_ptr&) {
                   requester.send(kAddress, with_token, judge_by_status,
                                  [&](const HttpResponse& response, const std::exception_ptr&) {
                                    body.set_value(response.body);
                                  });
                 });
  EXPECT_EQ(body.get_future().get(), "200");
}

TEST_F(RequesterTest, NoMoreThanTheLimitAreInFlight) {
  std::atomic<int> now = 0, most = 0;
  FaultServer server([&](const Asked&, Connection& connection) {
    const int here = ++now;
    int before = most;
    while (before < here && !most.compare_exchange_weak(before, here)) {
    }
    connection.wait_until([&] { return most >= 2; });  // the first one for the second
    connection.pause(0.001);
    --now;
    connection.answer(200);
  });
  RequestPolicy policy = quick();
  policy.max_in_flight = 5;
  Requester requester(client_, policy);
  expect_answers(requester, server, 100);
  EXPECT_LE(most, 5);
  EXPECT_GE(most, 2);
  EXPECT_LE(requester.statistics().connections, 5);
}

// A store that is content with four at a time: the limit comes down to that, and all is answered.
TEST_F(RequesterTest, ABusyStoreIsAskedForLess) {
  RequestPolicy policy = quick();
  policy.max_attempts = 100;
  policy.first_backoff_s = policy.max_backoff_s = 0.02;
  Requester requester(client_, policy);
  std::atomic<bool> is_busy = true;
  FaultServer server([&](const Asked&, Connection& connection) {
    connection.answer(is_busy && requester.statistics().in_flight_limit > 4 ? 503 : 200);
  });
  expect_answers(requester, server, 200);
  const RequestStatistics statistics = requester.statistics();
  EXPECT_LE(statistics.in_flight_limit, 16);
  EXPECT_GE(statistics.throttled, 8);
  EXPECT_EQ(statistics.requests, 200 + statistics.retries);
  // And up again when it has time.
  is_busy = false;
  for (int i = 0; i <= statistics.in_flight_limit; ++i) {
    EXPECT_EQ(requester.fetch(kAddress, make(server)).status, 200);
  }
  EXPECT_GT(requester.statistics().in_flight_limit, statistics.in_flight_limit);
}

TEST_F(RequesterTest, DestructionEndsWhatRunsWaitsAndIsQueued) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/busy") return connection.answer(503, "", {"Retry-After: 100"});
    connection.hang();
  });
  RequestPolicy policy = quick();
  policy.max_in_flight = 3;
  auto requester = std::make_unique<Requester>(client_, policy);
  std::vector<std::promise<void>> answers(10);
  const auto send = [&](size_t i, const std::string& target) {
    requester->send(
        kAddress, [url = server.url(target)](int) { return HttpRequest{.url = url}; },
        judge_by_status,
        [&, i](const HttpResponse&, std::exception_ptr error) {
          answers[i].set_exception(std::move(error));
        });
  };
  send(0, "/busy");
  while (requester->statistics().throttled == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (size_t i = 1; i < answers.size(); ++i) send(i, "/hang");
  const auto begin = std::chrono::steady_clock::now();
  requester.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
  for (auto& answer : answers) {
    std::future<void> result = answer.get_future();
    ASSERT_EQ(result.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_ERROR(result.get(), cancelled, .path = kAddress);
  }
}

TEST_F(RequesterTest, InAChildOfForkItFailsAndItsEndDoesNothing) {
  FaultServer server([](const Asked&, Connection& connection) { connection.hang(); });
  auto requester = std::make_unique<Requester>(client_, quick());
  std::promise<void> ended;
  requester->send(kAddress, make(server), judge_by_status,
                  [&](const HttpResponse&, const std::exception_ptr&) { ended.set_value(); });
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(300);
    try {
      requester->fetch(kAddress, make(server));
      testing::expect(false, "a parent's requester sends in a child");
    } catch (const Error& error) {
      const std::string text = error.what();
      testing::expect(text.find("before fork()") != std::string::npos, text);
    }
    requester.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  requester.reset();
  ended.get_future().get();
}

TEST(Verdict, RepeatsWhatMayBeOtherwiseTheNextTime) {
  for (const int status : {408, 429, 500, 502, 503, 504, 507, 520, 522, 524}) {
    const Verdict verdict = judge_by_status({.status = status});
    EXPECT_EQ(verdict.kind, Verdict::Kind::repeat) << status;
    EXPECT_EQ(verdict.is_throttled, status == 429 || status == 503) << status;
    EXPECT_EQ(verdict.wait_s, 0);
  }
  for (const int status : {200, 204, 206, 301, 304, 400, 401, 403, 404, 412, 416, 501, 505}) {
    EXPECT_EQ(judge_by_status({.status = status}).kind, Verdict::Kind::done) << status;
  }
  EXPECT_EQ(judge_by_status({.status = 429, .headers = {{"retry-after", "7"}}}).wait_s, 7);
  EXPECT_EQ(judge_by_status({.status = 429, .headers = {{"ratelimit", "\"api\";r=0;t=55"}}}).wait_s,
            55);
}

TEST(Verdict, RepeatsTheCodesThatAwsOwnToolsRepeat) {
  const auto refused = [](const std::string& code) {
    return judge_by_status({.status = 400, .body = "<Error><Code>" + code + "</Code></Error>"});
  };
  for (const char* code : {"Throttling", "ThrottlingException", "RequestLimitExceeded", "SlowDown",
                           "BandwidthLimitExceeded"}) {
    EXPECT_EQ(refused(code).kind, Verdict::Kind::repeat) << code;
    EXPECT_TRUE(refused(code).is_throttled) << code;
  }
  EXPECT_EQ(refused("RequestTimeout").kind, Verdict::Kind::repeat);
  EXPECT_FALSE(refused("RequestTimeout").is_throttled);
  EXPECT_EQ(refused("InvalidArgument").kind, Verdict::Kind::done);
}

TEST(Verdict, ARateLimitSaysWhenThereIsMore) {
  EXPECT_EQ(rate_limit_s("\"api\";r=0;t=55"), 55);
  EXPECT_EQ(rate_limit_s("\"api\";r=3;t=55"), std::nullopt);
  EXPECT_EQ(rate_limit_s("\"api\";r=0"), std::nullopt);
  EXPECT_EQ(rate_limit_s(""), std::nullopt);
}

TEST(Verdict, RetryAfterIsSecondsOrADate) {
  constexpr int64_t kEndOf1999 = 946684799;
  EXPECT_EQ(retry_after_s("120", 0), 120);
  EXPECT_EQ(retry_after_s("0.5", 0), 0.5);
  EXPECT_EQ(retry_after_s("-3", 0), 0);
  EXPECT_EQ(retry_after_s("Fri, 31 Dec 1999 23:59:59 GMT", kEndOf1999 - 30), 30);
  EXPECT_EQ(retry_after_s("Fri, 31 Dec 1999 23:59:59 GMT", kEndOf1999 + 30), 0);
  for (const char* text : {"", "soon", "12 s", "Fri, 31 Dez 1999 23:59:59 GMT",
                           "Fri, 31 anF 1999 23:59:59 GMT", "31 Dec 1999"}) {
    EXPECT_EQ(retry_after_s(text, 0), std::nullopt) << text;
  }
}

TEST(Verdict, AStoresWordsAreCodeAndMessageOrTheBegin) {
  EXPECT_EQ(words_of("<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>Please reduce "
                     "your request rate.</Message><RequestId>1</RequestId></Error>"),
            "SlowDown: Please reduce your request rate.");
  EXPECT_EQ(words_of("<Error><Code>NoSuchKey</Code></Error>"), "NoSuchKey");
  EXPECT_EQ(words_of("<Error><Code>cut"), "<Error><Code>cut");
  EXPECT_EQ(words_of("no\nway\x01\xff"), "no\\nway\\x01\\xff");
  EXPECT_EQ(words_of(std::string(300, 'x')), std::string(200, 'x'));
  EXPECT_EQ(words_of(""), "");
  EXPECT_EQ(status_and_words({.status = 503}), "status 503");
  EXPECT_EQ(status_and_words({.status = 403, .body = "no"}), "status 403 (no)");
}

TEST(InFlightLimit, HalvesOnceARoundAndGrowsByOneARound) {
  InFlightLimit limit(3, 64);
  EXPECT_EQ(limit.value(), 64);
  const uint32_t first_round = limit.generation();
  for (int i = 0; i < 64; ++i) limit.throttled(first_round);
  EXPECT_EQ(limit.value(), 32);
  for (int i = 0; i < 31; ++i) limit.succeeded();
  EXPECT_EQ(limit.value(), 32);
  limit.succeeded();
  EXPECT_EQ(limit.value(), 33);
  limit.throttled(first_round);
  EXPECT_EQ(limit.value(), 33);
  for (int i = 0; i < 10; ++i) limit.throttled(limit.generation());
  EXPECT_EQ(limit.value(), 3);
  for (int i = 0; i < 10'000; ++i) limit.succeeded();
  EXPECT_EQ(limit.value(), 64);
}

TEST(AnswerTimes, AreOfTheLastOnesOfASimilarSize) {
  AnswerTimes times(0.95);
  EXPECT_EQ(times.quantile(8 << 20, 1), std::nullopt);
  for (int i = 1; i <= 100; ++i) times.add(100'000, i);
  EXPECT_EQ(times.quantile(100'000, 101), std::nullopt);
  EXPECT_EQ(times.quantile(8 << 20, 1), std::nullopt);
  EXPECT_NEAR(*times.quantile(110'000, 100), 95, 1.5);
  for (int i = 0; i < 200; ++i) times.add(100'000, 0.5);
  EXPECT_EQ(times.quantile(100'000, 100), 0.5);
}

}  // namespace
}  // namespace ffkit
