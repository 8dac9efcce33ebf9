#include "canned_client.h"
#include "stores/store_kinds.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;

std::shared_ptr<ObjectStore> store_that(CannedClient::Answer answer) {
  return make_http_store(std::make_shared<CannedClient>(std::move(answer)), {.retry_s = 0});
}

TEST(HttpStore, APageForEveryNameIsNoFile) {
  const auto store = store_that([](const SentRequest& asked) {
    if (asked.url.ends_with("/there.ffr")) return answer_of(200, "", {{"content-length", "5"}});
    return answer_of(200, asked.method == "HEAD" ? "" : "<html></html>",
                     {{"content-length", "13"}, {"content-type", "text/html; charset=utf-8"}});
  });
  EXPECT_EQ(store->find("https://host/set/there.ffr")->num_bytes, 5);
  EXPECT_FALSE(store->find("https://host/set/.ffkit-unfinished"));
  EXPECT_ERROR(store->read_all("https://host/set/manifest.json", 100), not_found);
  // A page that is asked for as one.
  EXPECT_TRUE(store->find("https://host/set/index.html"));
}

TEST(HttpStore, AFileThatIsCalledAPageIsThere) {
  const auto store = store_that([](const SentRequest& asked) {
    if (!asked.url.ends_with("/a.ffr")) return answer_of(404);
    return answer_of(200, "", {{"content-length", "5"}, {"content-type", "text/html"}});
  });
  EXPECT_EQ(store->find("https://host/set/a.ffr")->num_bytes, 5);
  EXPECT_FALSE(store->find("https://host/set/b.ffr"));
}

TEST(HttpStore, TheLengthOfACompressedAnswerIsNotThatOfTheFile) {
  const auto store = store_that([](const SentRequest& asked) {
    if (asked.method == "HEAD") {
      return answer_of(200, "", {{"content-length", "100"}, {"content-encoding", "gzip"}});
    }
    return answer_of(206, "x", {{"content-range", "bytes 0-0/300"}});
  });
  EXPECT_EQ(store->find("https://host/set/a.jsonl")->num_bytes, 300);
}

TEST(HttpStore, EveryAnswersLengthIsThatOfTheFile) {
  const auto store = store_that([](const SentRequest&) {
    return answer_of(206, "x", {{"content-range", "bytes 0-0/300"}});
  });
  std::array<std::byte, 1> byte{};
  EXPECT_ERROR(store->read("https://host/set/a.jsonl", 0, byte, {100, ""}), corrupt);
}

}  // namespace
}  // namespace ffkit
