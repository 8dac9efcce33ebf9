// Ranges through servers that cut them, stall, lie and change the object meanwhile.
#include "faults/fault_server.h"
#include "http/curl_library.h"
#include "http/http_client.h"
#include "requests/requests.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::FaultServer;
using Asked = FaultServer::Asked;
using Connection = FaultServer::Connection;

constexpr const char* kShard = "s3://bucket/b.ffr";

class ReadRangeTest : public ::testing::Test {
 protected:
  static std::string random_object(size_t num_bytes) {
    std::mt19937 random(7);
    std::string object(num_bytes, '\0');
    for (char& c : object) c = static_cast<char>(random());
    return object;
  }
  // Without second requests.
  static RequestPolicy quick() {
    return {.max_attempts = 4, .first_backoff_s = 0.001, .max_backoff_s = 0.004, .hedge_share = 0};
  }

  Requester::MakeRequest make(const FaultServer& server) const {
    return [url = server.url("/x"), limit = stall_limit_s_](int) {
      return HttpRequest{.url = url, .stall_limit_s = limit};
    };
  }
  // What is read of the server's object from `offset` on.
  std::string read(const FaultServer& server, int64_t offset, size_t num_bytes,
                   const std::string& version = "\"v1\"", int64_t object_bytes = -1) {
    // Bytes before and behind, which nobody may write.
    std::string memory(num_bytes + 16, '#');
    const RangeOfObject range = {
        .address = kShard,
        .offset = offset,
        .into = std::as_writable_bytes(std::span(memory.data() + 8, num_bytes)),
        .known = {object_bytes, version}};
    Requester requester(client_, policy_);
    try {
      requester.read_range(range, make(server));
    } catch (const Error&) {
      statistics_ = requester.statistics();
      throw;
    }
    statistics_ = requester.statistics();
    EXPECT_EQ(memory.substr(0, 8), "########");
    EXPECT_EQ(memory.substr(8 + num_bytes), "########");
    return memory.substr(8, num_bytes);
  }
  static std::vector<std::string> ranges(FaultServer& server) {
    std::vector<std::string> ranges;
    for (const Asked& asked : server.asked()) ranges.push_back(asked.header("range"));
    return ranges;
  }

  const std::string object_ = random_object(1'000'000);
  std::shared_ptr<HttpClient> client_ = make_curl_client(curl_library());
  RequestPolicy policy_ = quick();
  double stall_limit_s_ = 300;
  RequestStatistics statistics_;
};

TEST_F(ReadRangeTest, ReadsTheBytesOfAVersion) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    connection.answer_range(asked, object_, "\"v1\"");
  });
  EXPECT_TRUE(read(server, 1000, 300'000) == object_.substr(1000, 300'000));
  EXPECT_TRUE(read(server, 0, 1'000'000, "") == object_);
  EXPECT_TRUE(read(server, 999'999, 1, "\"v1\"", 1'000'000) == object_.substr(999'999));
  const std::vector<Asked> asked = server.asked();
  EXPECT_EQ(asked[0].header("range"), "bytes=1000-300999");
  EXPECT_EQ(asked[0].header("if-match"), "\"v1\"");
  EXPECT_FALSE(asked[1].headers.contains("if-match"));
  EXPECT_EQ(read(server, 0, 0), "");
  EXPECT_EQ(server.num_requests(), 3);
}

TEST_F(ReadRangeTest, OnlyTheRestOfACutRangeIsAskedForAgain) {
  stall_limit_s_ = 1;
  for (const char* version : {"\"v1\"", ""}) {
    FaultServer each([&](const Asked& asked, Connection& connection) {
      if (asked.number == 2) return connection.answer_range(asked, object_, "\"v1\"");
      const auto [first, last] = Connection::range_of(asked);
      connection.send(
          Connection::head(206, last - first + 1,
                           {Connection::content_range(first, last, 1'000'000), "ETag: \"v1\""}) +
          object_.substr(first, 100));
      if (asked.number == 0) return connection.close();
      connection.hang();  // until the stall limit
    });
    EXPECT_TRUE(read(each, 5000, 1000, version) == object_.substr(5000, 1000));
    EXPECT_THAT(ranges(each), ElementsAre("bytes=5000-5999", "bytes=5100-5999", "bytes=5200-5999"));
    EXPECT_EQ(each.asked()[1].header("if-match"), "\"v1\"");
    EXPECT_EQ(statistics_.bytes, 1000);
  }
}

TEST_F(ReadRangeTest, VersionsAreNotMixedWhenAnyIsWanted) {
  const std::string other = std::string(1'000'000, 'o');
  const auto cut = [&](const Asked& asked, Connection& connection,
                       const std::vector<std::string>& headers) {
    const auto [first, last] = Connection::range_of(asked);
    std::vector<std::string> all = {Connection::content_range(first, last, 1'000'000)};
    all.insert(all.end(), headers.begin(), headers.end());
    connection.send(Connection::head(206, last - first + 1, all) + object_.substr(first, 100));
    connection.close();
  };
  // The object is replaced after the first answer, ...
  FaultServer replaced([&](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return cut(asked, connection, {"ETag: \"v1\""});
    connection.answer_range(asked, other, "\"v2\"");
  });
  EXPECT_TRUE(read(replaced, 5000, 1000, "") == other.substr(5000, 1000));
  EXPECT_THAT(ranges(replaced),
              ElementsAre("bytes=5000-5999", "bytes=5100-5999", "bytes=5000-5999"));
  // ... and nobody can tell.
  FaultServer unnamed([&](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return cut(asked, connection, {});
    connection.answer_range(asked, other, "\"v2\"");
  });
  EXPECT_TRUE(read(unnamed, 5000, 1000, "") == other.substr(5000, 1000));
  EXPECT_THAT(ranges(unnamed), ElementsAre("bytes=5000-5999", "bytes=5000-5999"));
}

TEST_F(ReadRangeTest, AChangedObjectIsAnError) {
  FaultServer honest([&](const Asked& asked, Connection& connection) {
    connection.answer_range(asked, object_, "\"v2\"");
  });
  EXPECT_ERROR(read(honest, 0, 100), corrupt, .path = kShard);
  // One that knows no If-Match.
  FaultServer ignorant([&](const Asked& asked, Connection& connection) {
    Asked without = asked;
    without.headers.erase("if-match");
    connection.answer_range(without, object_, "\"v2\"");
  });
  EXPECT_ERROR(read(ignorant, 0, 100), corrupt, .path = kShard);
  FaultServer longer([&](const Asked& asked, Connection& connection) {
    connection.answer_range(asked, object_, "\"v1\"");
  });
  EXPECT_ERROR(read(longer, 0, 100, "\"v1\"", 999'999), corrupt, .path = kShard);
}

TEST_F(ReadRangeTest, AShorterObjectIsAnError) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    connection.answer_range(asked, object_.substr(0, 500), "\"v1\"");
  });
  EXPECT_ERROR(read(server, 400, 200), corrupt, .path = kShard);
  EXPECT_ERROR(read(server, 600, 200), corrupt, .path = kShard);
  EXPECT_EQ(server.num_requests(), 2);
}

TEST_F(ReadRangeTest, AServerWithoutRangesIsAnErrorUnlessAllWasAskedFor) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    Asked without = asked;
    without.headers.erase("range");
    connection.answer_range(without, object_, "\"v1\"");
  });
  EXPECT_TRUE(read(server, 0, 1'000'000) == object_);
  EXPECT_ERROR(read(server, 100, 1000), unsupported, .path = kShard);
  EXPECT_ERROR(read(server, 0, 1000), unsupported, .path = kShard);
  EXPECT_ERROR(read(server, 0, 1'000'001), corrupt, .path = kShard);
}

TEST_F(ReadRangeTest, AWrongRangeIsAskedForAgain) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.number == 1) return connection.answer_range(asked, object_, "\"v1\"");
    connection.answer(206, object_.substr(0, 100),
                      {Connection::content_range(0, 99, 1'000'000), "ETag: \"v1\""});
  });
  EXPECT_TRUE(read(server, 200, 100) == object_.substr(200, 100));
  EXPECT_ERROR(read(server, 200, 100), io, .path = kShard);
  EXPECT_EQ(server.num_requests(), 6);
}

TEST_F(ReadRangeTest, OtherStatusesAreErrorsWithTheStoresWords) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return connection.answer(404, "<Code>NoSuchKey</Code>");
    if (asked.number == 1) {
      return connection.answer(403, "<Code>AccessDenied</Code><Message>Access Denied</Message>");
    }
    connection.answer(301, "", {"Location: /y"});
  });
  EXPECT_ERROR(read(server, 0, 100), not_found, .path = kShard);
  EXPECT_ERROR(read(server, 0, 100), io, .path = kShard);
  EXPECT_ERROR(read(server, 0, 100), io, .path = kShard);
}

TEST_F(ReadRangeTest, ThrottledAndBrokenAnswersAreRepeated) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.number == 0) return connection.answer(503);
    if (asked.number == 1) {
      connection.answer(500, std::string(1000, 'x'));
      return connection.close();  // libcurl itself repeats on a connection that was in use before
    }
    if (asked.number == 2) return connection.close();
    connection.answer_range(asked, object_, "\"v1\"");
  });
  EXPECT_TRUE(read(server, 10, 20) == object_.substr(10, 20));
  EXPECT_EQ(statistics_.retries, 3);
}

// Second requests: every range of the same size, so that their times are known. The 21st one alone
// is asked for twice, however busy the machine is: the times of 20 are known then, and of 21 ranges
// no more than one is.
class HedgeTest : public ReadRangeTest {
 protected:
  static constexpr size_t kNumBytes = 50'000;

  HedgeTest() {
    policy_.hedge_share = 0.05;
    policy_.hedge_min_s = 0.05;
    policy_.hedge_min_samples = 20;
  }

  // Reads the range number `i`, from the byte i on, into `memory`.
  std::future<void> start(Requester& requester, const FaultServer& server, int i,
                          std::string& memory) {
    memory.assign(kNumBytes, '#');
    auto answer = std::make_shared<std::promise<void>>();
    std::future<void> result = answer->get_future();
    requester.read_range({.address = kShard,
                          .offset = i,
                          .into = std::as_writable_bytes(std::span(memory.data(), kNumBytes)),
                          .known = {-1, "\"v1\""}},
                         make(server), judge_by_status, [answer](std::exception_ptr error) {
                           if (error == nullptr) return answer->set_value();
                           answer->set_exception(std::move(error));
                         });
    return result;
  }
  // Without waiting for what hangs until the stall limit.
  void read_some(Requester& requester, const FaultServer& server, int num) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < num; ++i) {
      std::string memory;
      start(requester, server, i, memory).get();
      EXPECT_TRUE(memory == object_.substr(i, kNumBytes));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
  }
  // The head of a range's answer.
  static std::string head_of(const Asked& asked) {
    const auto [first, last] = Connection::range_of(asked);
    return Connection::head(206, last - first + 1,
                            {Connection::content_range(first, last, 1'000'000), "ETag: \"v1\""});
  }
  // Half of a range, and the rest never.
  void answer_half(const Asked& asked, Connection& connection) {
    connection.send(head_of(asked) + std::string(kNumBytes / 2, 'w'));
    connection.hang();
  }
};

TEST_F(HedgeTest, TheSecondRequestHelpsWhenTheFirstHangs) {
  std::atomic<bool> hangs = true;
  FaultServer server([&](const Asked& asked, Connection& connection) {
    // The 21st range, for the first time.
    if (asked.header("range").starts_with("bytes=20-") && hangs.exchange(false)) {
      return answer_half(asked, connection);
    }
    connection.answer_range(asked, object_, "\"v1\"");
  });
  Requester requester(client_, policy_);
  read_some(requester, server, 21);
  const RequestStatistics statistics = requester.statistics();
  EXPECT_EQ(statistics.hedges, 1);
  EXPECT_EQ(statistics.hedges_won, 1);
  EXPECT_EQ(statistics.requests, 22);
  EXPECT_EQ(statistics.retries, 0);
  EXPECT_EQ(statistics.failures, 0);
}

TEST_F(HedgeTest, TheFirstMayStillWinAndTheSecondWritesNothing) {
  std::atomic<int> num_asked = 0;
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.header("range").starts_with("bytes=20-")) {
      if (++num_asked > 1) return answer_half(asked, connection);
      connection.wait_until([&] { return num_asked > 1; });
      connection.pause(0.02);  // so that the second one's bytes are there first
    }
    connection.answer_range(asked, object_, "\"v1\"");
  });
  Requester requester(client_, policy_);
  read_some(requester, server, 21);
  EXPECT_EQ(num_asked, 2);
  EXPECT_EQ(requester.statistics().hedges, 1);
  EXPECT_EQ(requester.statistics().hedges_won, 0);
}

TEST_F(HedgeTest, WhenBothFailTheRangeIsRepeated) {
  std::atomic<int> num_asked = 0;
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.header("range").starts_with("bytes=20-")) {
      const int number = ++num_asked;
      if (number == 1) {
        connection.wait_until([&] { return num_asked > 1; });
        return connection.answer(500);
      }
      if (number == 2) {
        connection.send(head_of(asked));  // libcurl itself repeats what is cut without a byte
        return connection.close();
      }
    }
    connection.answer_range(asked, object_, "\"v1\"");
  });
  Requester requester(client_, policy_);
  read_some(requester, server, 21);
  EXPECT_EQ(num_asked, 3);
  EXPECT_EQ(requester.statistics().retries, 1);
}

// What a second request had when it was cut is not in the caller's memory.
TEST_F(HedgeTest, ThePartOfASecondRequestIsAskedForAgain) {
  std::atomic<int> num_asked = 0;
  std::atomic<bool> has_failed = false;
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.header("range").starts_with("bytes=20-")) {
      const int number = ++num_asked;
      if (number == 1) {
        connection.wait_until([&] { return num_asked > 1; });
        connection.answer(500);
        has_failed = true;
        return;
      }
      if (number == 2) {
        connection.send(head_of(asked) + object_.substr(20, 1000));
        connection.wait_until([&] { return has_failed.load(); });
        connection.pause(0.02);  // so that the error of the first is there before
        return connection.close();
      }
    }
    connection.answer_range(asked, object_, "\"v1\"");
  });
  Requester requester(client_, policy_);
  read_some(requester, server, 21);
  EXPECT_EQ(num_asked, 3);
  EXPECT_EQ(requester.statistics().hedges, 1);
  EXPECT_EQ(requester.statistics().hedges_won, 0);
  EXPECT_EQ(server.asked().back().header("range"), "bytes=20-50019");
}

TEST_F(HedgeTest, NoMoreThanTheirShareAreSentTwice) {
  Requester requester(client_, policy_);
  FaultServer server([&](const Asked& asked, Connection& connection) {
    if (asked.number >= 20) {
      connection.wait_until([&] { return requester.statistics().hedges >= 3; });
      connection.pause(0.08);  // more of them would come
    }
    connection.answer_range(asked, object_, "\"v1\"");
  });
  std::vector<std::string> memory(40);
  read_some(requester, server, 20);
  std::vector<std::future<void>> answers;
  for (int i = 0; i < 40; ++i) answers.push_back(start(requester, server, i, memory[i]));
  for (std::future<void>& answer : answers) answer.get();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(memory[i] == object_.substr(i, kNumBytes));
  EXPECT_EQ(requester.statistics().hedges, 3);  // of 60
}

TEST_F(HedgeTest, NothingIsSentTwiceBeforeTimesAreKnown) {
  FaultServer server([&](const Asked& asked, Connection& connection) {
    connection.pause(0.08);
    connection.answer_range(asked, object_, "\"v1\"");
  });
  Requester requester(client_, policy_);
  read_some(requester, server, 3);
  EXPECT_EQ(requester.statistics().hedges, 0);
}

// Slow and broken servers at random, with everything on.
class RandomFaultsTest : public HedgeTest {
 protected:
  RandomFaultsTest() {
    policy_.max_attempts = 50;
    policy_.hedge_share = 1;
    policy_.hedge_min_samples = 10;
    policy_.hedge_min_s = 0.001;
    policy_.hedge_factor = 1;
    policy_.hedge_quantile = 0.5;
  }

  void answer_somehow(const Asked& asked, Connection& connection) {
    // A number that is another one for each request, and the same in every run.
    const uint32_t dice = static_cast<uint32_t>(asked.number) * 2654435761U >> 16;
    switch (dice % 16) {
      case 0:
        return connection.answer(503);
      case 1:
        return connection.close();
      case 2:
        connection.pause(0.02);
        break;
      case 3: {
        const auto [first, last] = Connection::range_of(asked);
        connection.send(head_of(asked) +
                        object_.substr(first, std::min<size_t>(dice % 1000, last - first)));
        return connection.close();
      }
      default:
        break;
    }
    connection.answer_range(asked, object_, "\"v1\"");
  }

  FaultServer server_{
      [this](const Asked& asked, Connection& connection) { answer_somehow(asked, connection); }};
};

TEST_F(RandomFaultsTest, WhateverHappensTheBytesAreRight) {
  std::vector<std::string> memory(600);
  Requester requester(client_, policy_);
  std::vector<std::future<void>> answers;
  for (int i = 0; i < 600; ++i) answers.push_back(start(requester, server_, i, memory[i]));
  for (int i = 0; i < 600; ++i) {
    answers[i].get();
    ASSERT_TRUE(memory[i] == object_.substr(i, kNumBytes)) << i;
  }
  EXPECT_GT(requester.statistics().hedges_won, 0);
  EXPECT_EQ(requester.statistics().failures, 0);
}

// At any moment, and nothing is written or called afterwards.
TEST_F(RandomFaultsTest, DestructionEndsRangesWhateverTheyAreAt) {
  int num_read = 0, num_ended = 0;
  for (int round = 0; round < 25; ++round) {
    std::vector<std::string> memory(100);
    std::vector<std::future<void>> answers;
    {
      Requester requester(client_, policy_);
      for (int i = 0; i < 100; ++i) answers.push_back(start(requester, server_, i, memory[i]));
      // (64 are in flight at first.)
      while (requester.statistics().requests < 4 * round) std::this_thread::yield();
    }
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(answers[i].wait_for(std::chrono::seconds(0)), std::future_status::ready);
      try {
        answers[i].get();
        ++num_read;
        EXPECT_TRUE(memory[i] == object_.substr(i, kNumBytes));
      } catch (const Error& error) {
        ++num_ended;
        EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
      }
    }
  }
  EXPECT_GT(num_read, 0);
  EXPECT_GT(num_ended, 0);
}

}  // namespace
}  // namespace ffkit
