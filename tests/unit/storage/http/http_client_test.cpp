// Answers, failures and ends of the client over libcurl.
#include "http/http_client.h"

#include "faults/fault_server.h"
#include "http/curl_library.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::FaultServer;
using Asked = FaultServer::Asked;
using Connection = FaultServer::Connection;

class CurlClientTest : public ::testing::Test {
 protected:
  HttpResponse get(FaultServer& server, HttpRequest request = {}) {
    request.url = server.url("/object");
    return client_->fetch(std::move(request));
  }

  std::shared_ptr<HttpClient> client_ = make_curl_client(curl_library());
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST_F(CurlClientTest, AnswersWithStatusHeadersAndBody) {
  FaultServer server([](const Asked&, Connection& connection) {
    connection.answer(404, "<Code>NoSuchKey</Code>", {"ETag:  \"a b\" ", "X-Empty:"});
  });
  const HttpResponse response = get(server);
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.seen_status, 404);
  EXPECT_EQ(response.failure, "");
  EXPECT_EQ(response.header("etag"), "\"a b\"");
  EXPECT_EQ(response.header("x-empty"), "");
  EXPECT_EQ(response.body, "<Code>NoSuchKey</Code>");
  EXPECT_EQ(response.num_bytes, 22);
  EXPECT_EQ(response.num_connects, 1);
  EXPECT_GT(response.total_s, 0);
  EXPECT_LE(response.first_byte_s, response.total_s);
}

TEST_F(CurlClientTest, SendsWhatIsAskedAndNothingThatChangesBytes) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(200); });
  get(server, {.headers = {"Range: bytes=0-9", "X-Amz-Date: now"}});
  const Asked asked = server.asked().at(0);
  EXPECT_EQ(asked.method, "GET");
  EXPECT_EQ(asked.target, "/object");
  EXPECT_EQ(asked.header("range"), "bytes=0-9");
  EXPECT_EQ(asked.header("x-amz-date"), "now");
  EXPECT_EQ(asked.header("user-agent").substr(0, 6), "ffkit/");
  EXPECT_FALSE(asked.headers.contains("accept-encoding"));
}

TEST_F(CurlClientTest, EveryMethodCarriesItsBodyAndNoHeaderMore) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(200); });
  const std::string large(3'000'000, 'x');
  get(server, {.method = "PUT", .body = bytes_of(large)});
  get(server, {.method = "PUT"});
  get(server, {.method = "POST", .body = bytes_of("<Complete/>")});
  get(server, {.method = "POST"});
  get(server, {.method = "DELETE"});
  get(server, {.method = "HEAD"});
  get(server);
  const std::vector<Asked> asked = server.asked();
  ASSERT_EQ(asked.size(), 7);
  EXPECT_EQ(asked[0].body, large);
  EXPECT_FALSE(asked[0].headers.contains("expect"));
  EXPECT_EQ(asked[1].header("content-length"), "0");
  EXPECT_EQ(asked[2].body, "<Complete/>");
  EXPECT_EQ(asked[3].header("content-length"), "0");
  for (const Asked& each : asked) EXPECT_FALSE(each.headers.contains("content-type"));
  std::vector<std::string> methods;
  for (const Asked& each : asked) methods.push_back(each.method);
  EXPECT_EQ(methods,
            (std::vector<std::string>{"PUT", "PUT", "POST", "POST", "DELETE", "HEAD", "GET"}));
}

TEST_F(CurlClientTest, HeadHasTheLengthAndNoBody) {
  FaultServer server(
      [](const Asked&, Connection& connection) { connection.send(Connection::head(200, 12345)); });
  const HttpResponse response = get(server, {.method = "HEAD"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("content-length"), "12345");
  EXPECT_EQ(response.num_bytes, 0);
}

TEST_F(CurlClientTest, BodiesGoStraightToTheReadersMemory) {
  const std::string object(1'000'000, 'y');
  FaultServer server([&](const Asked& asked, Connection& connection) {
    connection.answer_range(asked, object, "\"e\"");
  });
  std::string memory(object.size(), '.');
  const HttpResponse response =
      get(server, {.into = std::as_writable_bytes(std::span(memory.data(), memory.size()))});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.num_bytes, 1'000'000);
  EXPECT_EQ(response.body, "");
  EXPECT_TRUE(memory == object);
}

TEST_F(CurlClientTest, WordsOfAnErrorDoNotGoToTheReadersMemory) {
  FaultServer server([&](const Asked&, Connection& connection) { connection.answer(403, "no"); });
  std::string memory = "....";
  const HttpResponse response =
      get(server, {.into = std::as_writable_bytes(std::span(memory.data(), memory.size()))});
  EXPECT_EQ(response.body, "no");
  EXPECT_EQ(memory, "....");
}

TEST_F(CurlClientTest, AnAnswerLongerThanTheMemoryEndsTheRequest) {
  FaultServer server([](const Asked&, Connection& connection) {
    connection.answer(200, std::string(100'000, 'z'));
  });
  std::string memory(10'010, '.');
  const HttpResponse response =
      get(server, {.into = std::as_writable_bytes(std::span(memory.data(), 10'000))});
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.seen_status, 200);
  EXPECT_FALSE(response.is_cut);
  EXPECT_THAT(response.failure, HasSubstr("more than the 10000 bytes that were asked for"));
  EXPECT_EQ(memory.substr(10'000), "..........");
}

TEST_F(CurlClientTest, EndlessAnswersEnd) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number == 0) {
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      while (connection.send("5\r\nabcde\r\n")) {
      }
    } else {
      connection.send("HTTP/1.1 200 OK\r\n");
      while (connection.send("X-More: and more of this\r\n")) {
      }
    }
    connection.close();
  });
  HttpResponse response = get(server, {.max_body_bytes = 1000});
  EXPECT_THAT(response.failure, HasSubstr("more than 1000 bytes"));
  response = get(server);
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.is_cut);
  EXPECT_NE(response.failure, "");
}

TEST_F(CurlClientTest, CutAnswersSaySoAndHowFarTheyCame) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number == 0) {
      connection.send(Connection::head(206, 10, {"Content-Range: bytes 0-9/20"}) + "01234");
    } else if (asked.number == 1) {
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc");
    }
    connection.close();
  });
  std::string memory(10, '.');
  const HttpResponse body =
      get(server, {.into = std::as_writable_bytes(std::span(memory.data(), memory.size()))});
  EXPECT_EQ(body.status, 0);
  EXPECT_EQ(body.seen_status, 206);
  EXPECT_TRUE(body.is_cut) << body.failure;
  EXPECT_EQ(body.num_bytes, 5);
  EXPECT_EQ(memory, "01234.....");
  EXPECT_EQ(body.header("content-range"), "bytes 0-9/20");
  const HttpResponse chunk = get(server);
  EXPECT_TRUE(chunk.is_cut) << chunk.failure;
  EXPECT_EQ(chunk.status, 0);
  const HttpResponse nothing = get(server);
  EXPECT_TRUE(nothing.is_cut) << nothing.failure;
  EXPECT_EQ(nothing.seen_status, 0);
  EXPECT_THAT(nothing.failure, HasSubstr("127.0.0.1"));
}

TEST_F(CurlClientTest, NobodyThereMayBeRepeated) {
  int port = 0;
  {
    FaultServer gone([](const Asked&, Connection&) {});
    port = gone.port();
  }
  const HttpResponse response =
      client_->fetch({.url = "http://127.0.0.1:" + std::to_string(port) + "/"});
  EXPECT_TRUE(response.is_cut);
  EXPECT_THAT(response.failure, HasSubstr("127.0.0.1"));
}

TEST_F(CurlClientTest, WhatCanNeverWorkIsNotRepeated) {
  for (const char* url : {"http://", "ftp://127.0.0.1/x", "file:///etc/hostname", "gopher://x/"}) {
    const HttpResponse response = client_->fetch({.url = url});
    EXPECT_EQ(response.status, 0) << url;
    EXPECT_FALSE(response.is_cut) << url;
    EXPECT_NE(response.failure, "") << url;
  }
}

TEST_F(CurlClientTest, ATlsHandshakeThatIsCutMayBeRepeated) {
  FaultServer server([](const Asked&, Connection&) {});
  std::promise<void> ended;
  // The server takes the handshake for a request whose end never comes, so that the limit ends it.
  const HttpResponse response = client_->fetch(
      {.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/", .stall_limit_s = 0.2});
  EXPECT_TRUE(response.is_cut) << response.failure;
}

TEST_F(CurlClientTest, AStalledAnswerIsBrokenOff) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number == 0) connection.send(Connection::head(200, 10) + "01234");
    connection.hang();
  });
  for (const int64_t bytes_before : {5, 0}) {
    const HttpResponse response = get(server, {.stall_limit_s = 0.8});
    EXPECT_TRUE(response.is_cut);
    EXPECT_THAT(response.failure, HasSubstr("no byte came for 0.8 s (127.0.0.1:"));
    EXPECT_EQ(response.num_bytes, bytes_before);
    EXPECT_GE(response.total_s, 0.8);
    EXPECT_LT(response.total_s, 100);
  }
}

TEST_F(CurlClientTest, ATrickleIsNoStallAndEndsAtTheTimeLimit) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    connection.send(Connection::head(200, 12));
    const int num_bytes = asked.number == 0 ? 12 : 6;
    for (int i = 0; i < num_bytes && connection.send("x"); ++i) connection.pause(0.15);
    if (num_bytes < 12) connection.hang();
  });
  const HttpResponse slow = get(server, {.stall_limit_s = 1.5});
  EXPECT_EQ(slow.status, 200);
  EXPECT_EQ(slow.body, "xxxxxxxxxxxx");
  EXPECT_GT(slow.total_s, 1.5);
  const HttpResponse late = get(server, {.stall_limit_s = 100, .time_limit_s = 0.1});
  EXPECT_TRUE(late.is_cut);
  EXPECT_THAT(late.failure, HasSubstr("the answer did not end within 0.1 s"));
}

TEST_F(CurlClientTest, RedirectsAreFollowedWhenAsked) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/object") {
      connection.answer(301, "moved", {"Location: /other", "X-First: 1"});
    } else {
      connection.answer(200, "there");
    }
  });
  const HttpResponse kept = get(server);
  EXPECT_EQ(kept.status, 301);
  EXPECT_EQ(kept.header("location"), "/other");
  EXPECT_EQ(kept.body, "moved");
  std::string memory = ".....";
  const HttpResponse followed =
      get(server, {.into = std::as_writable_bytes(std::span(memory.data(), memory.size())),
                   .follow_redirects = true});
  EXPECT_EQ(followed.status, 200);
  EXPECT_EQ(followed.header("x-first"), "");
  EXPECT_EQ(memory, "there");
}

TEST_F(CurlClientTest, ProxiesAreThoseOfTheEnvironment) {
  FaultServer proxy(
      [](const Asked& asked, Connection& connection) { connection.answer(200, asked.target); });
  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  ::setenv("no_proxy", "127.0.0.1", 1);
  EXPECT_EQ(client_->fetch({.url = "http://bucket.invalid/x"}).body, "http://bucket.invalid/x");
  EXPECT_EQ(get(proxy).body, "/object");
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
}

TEST_F(CurlClientTest, ConnectionsAreKept) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(200, "x"); });
  int num_connects = 0;
  for (int i = 0; i < 20; ++i) num_connects += get(server).num_connects;
  EXPECT_EQ(server.num_connections(), 1);
  EXPECT_EQ(num_connects, 1);
}

TEST_F(CurlClientTest, AKeptConnectionThatTheServerClosedIsReplacedUnnoticed) {
  FaultServer server([](const Asked&, Connection& connection) {
    connection.answer(200, "x");
    connection.close();
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(server).status, 200);
  EXPECT_EQ(server.num_connections(), 5);
}

// libcurl repeats by itself what a kept connection cut before an answer, with the whole body.
TEST_F(CurlClientTest, ABodyIsSentAgainFromItsBegin) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.number == 1) return connection.close();
    connection.answer(200);
  });
  const std::string body = "0123456789";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get(server, {.method = "PUT", .body = bytes_of(body)}).status, 200);
  }
  ASSERT_EQ(server.num_requests(), 3);
  EXPECT_EQ(server.asked()[2].body, body);
}

TEST_F(CurlClientTest, ManyAtOnceShareAFewConnections) {
  FaultServer server(
      [](const Asked& asked, Connection& connection) { connection.answer(200, asked.target); });
  const auto client = make_curl_client(curl_library(), {.max_connections_per_host = 4});
  std::vector<std::future<HttpResponse>> answers;
  for (int i = 0; i < 200; ++i) {
    auto answer = std::make_shared<std::promise<HttpResponse>>();
    answers.push_back(answer->get_future());
    // Those that wait for a connection do not stall.
    client->send({.url = server.url("/" + std::to_string(i)), .stall_limit_s = 5},
                 [answer](HttpResponse response) { answer->set_value(std::move(response)); });
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(answers[i].get().body, "/" + std::to_string(i));
  EXPECT_LE(server.num_connections(), 4);
  EXPECT_EQ(server.num_requests(), 200);
}

TEST_F(CurlClientTest, OneAnswerMaySendTheNextRequest) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(200); });
  std::promise<int> last;
  const std::string url = server.url("/");
  std::function<void(int)> next = [&](int left) {
    client_->send({.url = url}, [&, left](HttpResponse response) {
      if (left == 0 || response.status != 200) {
        last.set_value(response.status);
      } else {
        next(left - 1);
      }
    });
  };
  next(50);
  EXPECT_EQ(last.get_future().get(), 200);
  EXPECT_EQ(server.num_requests(), 51);
}

TEST_F(CurlClientTest, CancelEndsTheRequestsOfATicketAlone) {
  FaultServer server([](const Asked& asked, Connection& connection) {
    if (asked.target == "/wait") return connection.hang();
    connection.pause(0.05);
    connection.answer(200);
  });
  const auto client = make_curl_client(curl_library(), {.max_connections_per_host = 2});
  std::vector<std::promise<HttpResponse>> answers(4);
  const auto send = [&](int i, const std::string& target, uint64_t ticket) {
    client->send({.url = server.url(target), .ticket = ticket},
                 [&answers, i](HttpResponse response) { answers[i].set_value(response); });
  };
  const uint64_t ticket = new_http_ticket();
  ASSERT_NE(ticket, new_http_ticket());
  send(0, "/wait", ticket);
  send(1, "/quick", new_http_ticket());
  send(2, "/wait", ticket);  // waits for a connection
  send(3, "/quick", 0);
  client->cancel(ticket);
  for (const int i : {0, 2}) {
    const HttpResponse response = answers[i].get_future().get();
    EXPECT_EQ(response.status, 0);
    EXPECT_FALSE(response.is_cut);
    EXPECT_THAT(response.failure, HasSubstr("cancelled"));
  }
  for (const int i : {1, 3}) EXPECT_EQ(answers[i].get_future().get().status, 200);
}

TEST_F(CurlClientTest, DestructionEndsWhatIsRunning) {
  FaultServer server([](const Asked&, Connection& connection) { connection.hang(); });
  auto client = make_curl_client(curl_library(), {.max_connections_per_host = 2});
  std::vector<std::promise<HttpResponse>> answers(5);
  for (auto& answer : answers) {
    client->send({.url = server.url("/")},
                 [&answer](HttpResponse response) { answer.set_value(response); });
  }
  while (server.num_requests() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  client.reset();
  for (auto& answer : answers) {
    const HttpResponse response = answer.get_future().get();
    EXPECT_EQ(response.status, 0);
    EXPECT_FALSE(response.is_cut);
    EXPECT_NE(response.failure, "");
  }
}

TEST_F(CurlClientTest, TheLastReferenceMayEndInADone) {
  FaultServer server([](const Asked&, Connection& connection) { connection.answer(200); });
  std::promise<int> status;
  std::shared_ptr<HttpClient> client = make_curl_client(curl_library());
  HttpClient& used = *client;
  auto* held = new std::shared_ptr<HttpClient>(std::move(client));
  used.send({.url = server.url("/")}, [&status, held](HttpResponse response) {
    delete held;
    status.set_value(response.status);
  });
  EXPECT_EQ(status.get_future().get(), 200);
}

}  // namespace
}  // namespace ffkit
