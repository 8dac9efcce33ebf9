#include "requests/verdict.h"

#include <gtest/gtest.h>

#include "requests/pace.h"

namespace ffkit {
namespace {

TEST(Verdict, RepeatsWhatMayBeOtherwiseTheNextTime) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    const Verdict verdict = judge_by_status({.status = status});
    EXPECT_EQ(verdict.kind, Verdict::Kind::repeat) << status;
    EXPECT_EQ(verdict.is_throttled, status == 429 || status == 503) << status;
    EXPECT_EQ(verdict.wait_s, 0);
  }
  for (const int status : {200, 204, 206, 301, 304, 400, 401, 403, 404, 412, 416, 501}) {
    EXPECT_EQ(judge_by_status({.status = status}).kind, Verdict::Kind::done) << status;
  }
  EXPECT_EQ(judge_by_status({.status = 429, .headers = {{"retry-after", "7"}}}).wait_s, 7);
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
