#include "canned_client.h"
#include "stores/store_kinds.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;

constexpr int64_t kPieceBytes = 1 << 20;

std::shared_ptr<ObjectStore> store_with(std::shared_ptr<CannedClient> client) {
  S3Settings settings;
  settings.bucket = "bucket";
  settings.endpoint = "http://store";
  settings.is_path_style = true;
  settings.region = "r";
  settings.create_only = "If-None-Match: *";
  settings.crc32c_header = "x-amz-checksum-crc32c: ";
  settings.has_part_checksums = true;
  settings.variables = "AWS";
  settings.authorizer = std::make_unique<Authorizer>();
  RequestPolicy policy;
  policy.max_attempts = 3;
  policy.first_backoff_s = 0.001;
  policy.max_backoff_s = 0.001;
  return make_s3_store(std::move(settings), std::move(client), policy);
}

std::shared_ptr<CannedClient> client_that(CannedClient::Answer answer) {
  return std::make_shared<CannedClient>(std::move(answer));
}

HttpResponse lost_answer() {
  HttpResponse response = answer_of(0);
  response.is_cut = true;
  return response;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(S3Put, HasTheChecksumOfTheBody) {
  const auto client = client_that([](const SentRequest&) { return answer_of(200); });
  store_with(client)->put("s3://bucket/x", bytes_of("123456789"), false);
  // The check value of CRC-32C, e3069283.
  EXPECT_EQ(client->asked().back().header("x-amz-checksum-crc32c"), "4waSgw==");
}

TEST(S3Upload, NamesTheChecksumsOfItsPartsAtBothEnds) {
  const auto client = client_that([](const SentRequest& asked) {
    if (asked.url.ends_with("?uploads")) {
      return answer_of(200,
                       "<InitiateMultipartUploadResult><UploadId>1</UploadId>"
                       "</InitiateMultipartUploadResult>");
    }
    return answer_of(200, "", {{"etag", "\"e\""}});
  });
  const auto upload = store_with(client)->upload("s3://bucket/x", 0);
  const std::string bytes(17 << 20, 'x');
  upload->add(bytes_of(bytes));
  upload->finish();
  const auto asked = client->asked();
  EXPECT_EQ(asked.front().header("x-amz-checksum-algorithm"), "CRC32C");
  for (const SentRequest& part : asked) {
    if (part.method != "PUT") continue;
    const std::string crc = part.header("x-amz-checksum-crc32c");
    ASSERT_FALSE(crc.empty());
    EXPECT_NE(asked.back().body.find("<ChecksumCRC32C>" + crc + "</ChecksumCRC32C>"),
              std::string::npos);
  }
}

TEST(S3Put, SaysWhetherThereWasOne) {
  const auto client = client_that([](const SentRequest& asked) {
    if (asked.method == "HEAD") {
      return answer_of(asked.url.ends_with("/old") ? 200 : 404, "", {{"content-length", "1"}});
    }
    return answer_of(asked.url.ends_with("/race") ? 412 : 200);
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  EXPECT_TRUE(store->put("s3://bucket/new", bytes_of("x"), true));
  EXPECT_EQ(client->asked().back().header("If-None-Match"), "*");
  EXPECT_FALSE(store->put("s3://bucket/old", bytes_of("x"), true));
  EXPECT_EQ(client->asked().back().method, "HEAD");
  EXPECT_FALSE(store->put("s3://bucket/race", bytes_of("x"), true));
  EXPECT_TRUE(store->put("s3://bucket/old", bytes_of("x"), false));
  EXPECT_EQ(client->asked().back().header("If-None-Match"), "");
}

// The store wrote it, but the answer was lost; the second attempt finds what the first one wrote.
TEST(S3Put, KnowsItsOwnObjectAgain) {
  for (const bool is_ours : {true, false}) {
    std::atomic<int> num_puts = 0;
    const auto client = client_that([&](const SentRequest& asked) {
      if (asked.method == "PUT") return ++num_puts == 1 ? lost_answer() : answer_of(412);
      if (num_puts == 0) return answer_of(404);
      return answer_of(200,
                       asked.method == "HEAD" ? ""
                       : is_ours              ? "mine"
                                              : "else",
                       {{"content-length", "4"}});
    });
    EXPECT_EQ(store_with(client)->put("s3://bucket/x", bytes_of("mine"), true), is_ours);
  }
}

TEST(S3Put, DoesWithoutTheConditionWhereThereIsNone) {
  const auto client = client_that([](const SentRequest& asked) {
    if (asked.method == "HEAD") return answer_of(404);
    return answer_of(asked.header("If-None-Match").empty() ? 200 : 501);
  });
  EXPECT_TRUE(store_with(client)->put("s3://bucket/x", bytes_of("x"), true));
}

TEST(S3Upload, SendsPartsAndNamesThemInOrder) {
  std::mutex mutex;
  std::map<std::string, size_t> parts;
  std::string completed;
  const auto client = client_that([&](const SentRequest& asked) {
    const std::lock_guard lock(mutex);
    if (asked.url.ends_with("?uploads")) {
      return answer_of(200,
                       "<InitiateMultipartUploadResult><UploadId>a/b</UploadId>"
                       "</InitiateMultipartUploadResult>");
    }
    if (asked.method == "PUT") {
      const std::string number = asked.url.substr(asked.url.find('=') + 1, 1);
      parts[asked.url] = asked.body.size();
      return answer_of(200, "", {{"etag", "\"e" + number + "\""}});
    }
    completed = asked.url + " " + asked.body;
    return answer_of(200, "<CompleteMultipartUploadResult/>");
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  const auto upload = store->upload("s3://bucket/x", 0);
  const std::vector<std::byte> piece(10 * kPieceBytes);
  for (int i = 0; i < 4; ++i) upload->add(piece);
  upload->finish();
  EXPECT_EQ(parts, (std::map<std::string, size_t>{
                       {"http://store/bucket/x?partNumber=1&uploadId=a%2Fb", 16 * kPieceBytes},
                       {"http://store/bucket/x?partNumber=2&uploadId=a%2Fb", 16 * kPieceBytes},
                       {"http://store/bucket/x?partNumber=3&uploadId=a%2Fb", 8 * kPieceBytes}}));
  EXPECT_EQ(completed,
            "http://store/bucket/x?uploadId=a%2Fb <CompleteMultipartUpload>"
            "<Part><PartNumber>1</PartNumber><ETag>\"e1\"</ETag>"
            "<ChecksumCRC32C>o6uFQg==</ChecksumCRC32C></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"e2\"</ETag>"
            "<ChecksumCRC32C>o6uFQg==</ChecksumCRC32C></Part>"
            "<Part><PartNumber>3</PartNumber><ETag>\"e3\"</ETag>"
            "<ChecksumCRC32C>HkU5Ug==</ChecksumCRC32C></Part>"
            "</CompleteMultipartUpload>");
}

TEST(S3Upload, OfOnePartIsWrittenAtOnce) {
  const auto client = client_that([](const SentRequest&) { return answer_of(200); });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  const auto upload = store->upload("s3://bucket/x", 0);
  upload->add(std::vector<std::byte>(16 * kPieceBytes));
  EXPECT_TRUE(client->asked().empty());
  upload->finish();
  ASSERT_EQ(client->asked().size(), 1U);
  EXPECT_EQ(client->asked()[0].url, "http://store/bucket/x");
  EXPECT_EQ(client->asked()[0].body.size(), size_t{16 * kPieceBytes});
}

TEST(S3Upload, HasLargerPartsForALargerObject) {
  const auto client = client_that(
      [](const SentRequest&) { return answer_of(200, "<x><UploadId>u</UploadId></x>"); });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  // 1 TB in 9,000 parts.
  const auto upload = store->upload("s3://bucket/x", 1'000'000'000'000);
  upload->add(std::vector<std::byte>(100 * kPieceBytes));
  EXPECT_TRUE(client->asked().empty());
}

TEST(S3Upload, IsAbortedWhenAPartFails) {
  const auto client = client_that([](const SentRequest& asked) {
    if (asked.method == "POST") return answer_of(200, "<x><UploadId>u</UploadId></x>");
    if (asked.method == "DELETE") return answer_of(204);
    return answer_of(403, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  {
    const auto upload = store->upload("s3://bucket/x", 0);
    const auto write = [&] {
      for (int i = 0; i < 8; ++i) upload->add(std::vector<std::byte>(16 * kPieceBytes));
      upload->finish();
    };
    EXPECT_ERROR(write(), invalid_argument, .path = "s3://bucket/x");
    EXPECT_ERROR(upload->finish(), invalid_argument);
  }
  EXPECT_EQ(client->asked().back().method, "DELETE");
  EXPECT_EQ(client->asked().back().url, "http://store/bucket/x?uploadId=u");
}

// The end of an upload may be answered by an error in a 200, or once more after its answer was
// lost.
TEST(S3Upload, ReadsTheAnswerOfItsEnd) {
  std::atomic<int> num_ends = 0;
  std::string end;
  const auto client = client_that([&](const SentRequest& asked) {
    if (asked.method == "HEAD") return answer_of(200, "", {{"content-length", "1"}});
    if (asked.url.ends_with("?uploads")) return answer_of(200, "<x><UploadId>u</UploadId></x>");
    if (asked.method != "POST") return answer_of(200);
    const std::string code = ++num_ends == 1 ? "InternalError" : end;
    return answer_of(code == "NoSuchUpload" ? 404 : 200,
                     "<Error><Code>" + code + "</Code><Message>m</Message></Error>");
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  const auto upload_two_parts = [&] {
    num_ends = 0;
    const auto upload = store->upload("s3://bucket/x", 0);
    upload->add(std::vector<std::byte>(17 * kPieceBytes));
    upload->finish();
  };
  end = "NoSuchUpload";
  upload_two_parts();
  EXPECT_EQ(num_ends, 2);
  end = "InvalidPart";
  EXPECT_ERROR(upload_two_parts(), invalid_argument);
}

TEST(S3List, FollowsPagesAndEndsWhenTheyRepeat) {
  std::atomic<bool> is_repeating = false;
  const auto client = client_that([&](const SentRequest& asked) {
    const bool is_second = asked.url.find("continuation-token=t%2F1") != std::string::npos;
    const bool goes_on = !is_second || is_repeating;
    return answer_of(200, std::string("<ListBucketResult><Contents><Key>set/") +
                              (is_second ? "a" : "b") + "</Key><Size>3</Size></Contents>" +
                              "<Contents><Key>set/</Key><Size>0</Size></Contents>" +
                              (goes_on ? "<IsTruncated>true</IsTruncated><NextContinuationToken>"
                                         "t/1</NextContinuationToken>"
                                       : "") +
                              "</ListBucketResult>");
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  const Listing listing = store->list("s3://bucket/set/", true);
  ASSERT_EQ(listing.objects.size(), 2U);
  EXPECT_EQ(listing.objects[0].address, "s3://bucket/set/a");
  EXPECT_EQ(listing.objects[0].facts.num_bytes, 3);
  EXPECT_EQ(client->asked()[0].url,
            "http://store/bucket?list-type=2&encoding-type=url&prefix=set%2F");
  is_repeating = true;
  EXPECT_ERROR(store->list("s3://bucket/set", false), io, .path = "s3://bucket/set");
}

TEST(S3Store, NeedsTheNameOfAnObject) {
  const auto client = client_that([](const SentRequest&) { return answer_of(200); });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  EXPECT_ERROR(store->read_all("s3://bucket", 10), invalid_argument, .path = "s3://bucket");
  EXPECT_FALSE(store->find("s3://bucket/").has_value());
  store->read("s3://bucket/x", 5, {});
  EXPECT_TRUE(client->asked().empty());
  EXPECT_ERROR(store->find("s3://bucket/x"), io);
}

TEST(S3Uploads, AreListedPageByPage) {
  const auto client = client_that([](const SentRequest& asked) {
    if (asked.method == "DELETE") return answer_of(204);
    if (asked.url.find("key-marker=set%2Fb&upload-id-marker=2%2F") != std::string::npos) {
      return answer_of(200,
                       "<ListMultipartUploadsResult><Upload><Key>set/c</Key><UploadId>3</UploadId>"
                       "</Upload></ListMultipartUploadsResult>");
    }
    return answer_of(200,
                     "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                     "<NextKeyMarker>set/b</NextKeyMarker>"
                     "<NextUploadIdMarker>2/</NextUploadIdMarker>"
                     "<Upload><Key>set/b</Key><UploadId>2/</UploadId></Upload>"
                     "<Upload><Key>settings/a</Key><UploadId>1</UploadId></Upload>"
                     "</ListMultipartUploadsResult>");
  });
  const std::shared_ptr<ObjectStore> store = store_with(client);
  const std::vector<UnfinishedUpload> uploads = store->list_uploads("s3://bucket/set");
  ASSERT_EQ(uploads.size(), 2U);
  EXPECT_EQ(uploads[0].address, "s3://bucket/set/b");
  EXPECT_EQ(uploads[1].address, "s3://bucket/set/c");
  store->abort_upload(uploads[0]);
  EXPECT_EQ(client->asked().back().method, "DELETE");
  EXPECT_TRUE(client->asked().back().url.ends_with("/set/b?uploadId=2%2F"));
}

TEST(S3Uploads, MayBeMoreThanAStoreCanSay) {
  const std::shared_ptr<ObjectStore> store =
      store_with(client_that([](const SentRequest&) { return answer_of(501); }));
  EXPECT_ERROR(store->list_uploads("s3://bucket/set"), unsupported);
  const std::shared_ptr<ObjectStore> endless = store_with(client_that([](const SentRequest&) {
    return answer_of(200,
                     "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                     "<NextKeyMarker>b</NextKeyMarker></ListMultipartUploadsResult>");
  }));
  EXPECT_ERROR(endless->list_uploads("s3://bucket/set"), io);
}

}  // namespace
}  // namespace ffkit
