#include "requests/verdict.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using Kind = RangeAnswer::Kind;

const AskedRange kAsked = {
    .address = "s3://bucket/a.ffr", .first = 10, .num_bytes = 10, .known = {-1, "\"v1\""}};

HttpResponse part_answer(const std::string& content_range, int64_t num_bytes,
                         const std::string& etag = "\"v1\"") {
  HttpResponse response{.status = 206, .seen_status = 206, .num_bytes = num_bytes};
  response.headers = {{"content-range", content_range}};
  if (!etag.empty()) response.headers.emplace_back("etag", etag);
  return response;
}

HttpResponse cut_off(HttpResponse response) {
  response.status = 0;
  response.is_cut = true;
  response.failure = "the connection was cut";
  return response;
}

HttpResponse whole_answer(int64_t num_bytes) {
  return {.status = 200,
          .seen_status = 200,
          .headers = {{"content-length", std::to_string(num_bytes)}, {"etag", "\"v1\""}},
          .num_bytes = num_bytes};
}

HttpResponse status_answer(int status) {
  return {.status = status, .seen_status = status};
}

void throw_error(const RangeAnswer& answer) {
  ASSERT_EQ(answer.kind, Kind::fail);
  std::rethrow_exception(answer.error);
}

TEST(ContentRange, IsReadStrictly) {
  const auto range = parse_content_range("bytes 10-19/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 10);
  EXPECT_EQ(range->last, 19);
  EXPECT_EQ(range->total, 100);
  EXPECT_EQ(parse_content_range("bytes 10-19/*")->total, -1);
  for (const char* text : {"", "bytes", "bytes 10-19", "bytes */100", "bytes 19-10/100",
                           "bytes 10-19/15", "bytes 10-19/100x", "bytes -1-5/10", "items 1-2/3",
                           "bytes 10-19/", "bytes 99999999999999999999-2/3"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

TEST(RangeAnswer, AsksForTheRangeAndTheVersion) {
  EXPECT_EQ(range_headers(kAsked),
            (std::vector<std::string>{"Range: bytes=10-19", "If-Match: \"v1\""}));
  EXPECT_EQ(range_headers({.first = 0, .num_bytes = 1}),
            (std::vector<std::string>{"Range: bytes=0-0"}));
  EXPECT_EQ(range_headers({.first = 0, .num_bytes = 1, .known = {-1, "W/\"v1\""}}),
            (std::vector<std::string>{"Range: bytes=0-0"}));
}

TEST(RangeAnswer, IsWholeWhenEveryByteIsThere) {
  EXPECT_EQ(judge_range(part_answer("bytes 10-19/100", 10), kAsked).kind, Kind::whole);
  EXPECT_EQ(judge_range(part_answer("bytes 10-19/*", 10, ""), kAsked).kind, Kind::whole);
  AskedRange weak = kAsked;
  weak.known.version = "W/\"v1\"";
  EXPECT_EQ(judge_range(part_answer("bytes 10-19/100", 10), weak).kind, Kind::whole);
  AskedRange begin = kAsked;
  begin.first = 0;
  EXPECT_EQ(judge_range(whole_answer(10), begin).kind, Kind::whole);
}

TEST(RangeAnswer, MayHaveStatus200WhenItSaysWhichPartItIs) {
  HttpResponse rclone = part_answer("bytes 10-19/100", 10);
  rclone.status = 200;
  rclone.seen_status = 200;
  EXPECT_EQ(judge_range(rclone, kAsked).kind, Kind::whole);
  rclone.headers.front().second = "bytes 11-20/100";
  EXPECT_EQ(judge_range(rclone, kAsked).kind, Kind::part);
}

TEST(RangeAnswer, KeepsWhatIsThereOfACutOne) {
  const RangeAnswer cut = judge_range(cut_off(part_answer("bytes 10-19/100", 4)), kAsked);
  EXPECT_EQ(cut.kind, Kind::part);
  EXPECT_EQ(cut.num_good, 4);
  EXPECT_EQ(cut.reason, "the connection was cut");
  // A server may give less than was asked for.
  const RangeAnswer less = judge_range(part_answer("bytes 10-15/100", 6), kAsked);
  EXPECT_EQ(less.kind, Kind::part);
  EXPECT_EQ(less.num_good, 6);
  // What came without a length is asked for from the begin.
  AskedRange begin = kAsked;
  begin.first = 0;
  const RangeAnswer whole = judge_range(cut_off(whole_answer(10)), begin);
  EXPECT_EQ(whole.kind, Kind::part);
  EXPECT_EQ(whole.num_good, 0);
}

TEST(RangeAnswer, NothingIsGoodOfAWrongOne) {
  for (const HttpResponse& response :
       {part_answer("bytes 0-9/100", 10), part_answer("bytes 10-20/100", 11), part_answer("", 10),
        part_answer("bytes 11-19/100", 9), part_answer("bytes 10-14/100", 10),
        cut_off(part_answer("bytes 0-9/100", 4))}) {
    const RangeAnswer answer = judge_range(response, kAsked);
    EXPECT_EQ(answer.kind, Kind::part);
    EXPECT_EQ(answer.num_good, 0);
    EXPECT_NE(answer.reason, "");
  }
  EXPECT_EQ(
      judge_range(part_answer("bytes 0-9/100", 10), kAsked).reason,
      "ffkit asked the server for bytes 10 to 19, but the server answers with 'bytes 0-9/100'");
}

TEST(RangeAnswer, SaysWhatIsWrongWithTheObject) {
  const auto judge = [](const HttpResponse& response) {
    throw_error(judge_range(response, kAsked));
  };
  EXPECT_ERROR(judge(status_answer(404)), not_found, .path = "s3://bucket/a.ffr");
  EXPECT_ERROR(judge(status_answer(412)), corrupt, .path = "s3://bucket/a.ffr");
  EXPECT_ERROR(judge(part_answer("bytes 10-19/100", 10, "\"v2\"")), corrupt);
  HttpResponse beyond = status_answer(416);
  EXPECT_ERROR(judge(beyond), corrupt);
  beyond.headers = {{"content-range", "bytes */10"}};
  EXPECT_ERROR(judge(beyond), corrupt);
  EXPECT_ERROR(judge(part_answer("bytes 10-14/15", 5)), corrupt);
  EXPECT_ERROR(judge(whole_answer(100)), unsupported);
  // More than fits: the client has ended the request.
  HttpResponse too_long = whole_answer(10);
  too_long.status = 0;
  too_long.headers.clear();
  EXPECT_ERROR(judge(too_long), unsupported);
}

TEST(RangeAnswer, AnObjectOfAnotherLengthIsAnother) {
  AskedRange asked = kAsked;
  asked.known.num_bytes = 100;
  EXPECT_EQ(judge_range(part_answer("bytes 10-19/100", 10), asked).kind, Kind::whole);
  EXPECT_ERROR(throw_error(judge_range(part_answer("bytes 10-19/101", 10), asked)), corrupt);
  asked.first = 0;
  asked.num_bytes = 100;
  EXPECT_ERROR(throw_error(judge_range(whole_answer(50), asked)), corrupt);
}

TEST(RangeAnswer, BeginsAnewWhenAnyVersionIsWanted) {
  AskedRange asked = kAsked;
  asked.is_version_of_attempt = true;
  EXPECT_EQ(judge_range(status_answer(412), asked).kind, Kind::restart);
  EXPECT_EQ(judge_range(part_answer("bytes 10-19/100", 10, "\"v2\""), asked).kind, Kind::restart);
}

TEST(RangeAnswer, OtherStatusesAreTheStores) {
  EXPECT_EQ(judge_range(status_answer(403), kAsked).kind, Kind::other);
  EXPECT_EQ(judge_range(status_answer(301), kAsked).kind, Kind::other);
}

}  // namespace
}  // namespace ffkit
