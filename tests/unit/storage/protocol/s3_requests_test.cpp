#include "protocol/s3_requests.h"

#include "addresses/url.h"
#include "canned_client.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;
using testing::surroundings_of;
using Variables = std::map<std::string, std::string>;

const Variables kKeys = {{"AWS_ACCESS_KEY_ID", "AKIA"}, {"AWS_SECRET_ACCESS_KEY", "s"}};

Variables with_keys(Variables more) {
  more.insert(kKeys.begin(), kKeys.end());
  return more;
}

AwsChain chain_of(const Surroundings& surroundings) {
  return std::make_shared<Renewed<AwsCredentials>>(
      [surroundings] { return find_aws_credentials(surroundings); }, surroundings.now);
}

S3Settings settings_of(const std::string& bucket, const Surroundings& surroundings) {
  return s3_settings(bucket, surroundings, chain_of(surroundings));
}

std::string url_with(const std::string& bucket, const Variables& variables) {
  const S3Settings settings = settings_of(bucket, surroundings_of(variables));
  return url_of(settings, settings.region, "a b/c+d", "x=1");
}

RequestPolicy hasty() {
  RequestPolicy policy;
  policy.first_backoff_s = 0.001;
  policy.max_backoff_s = 0.001;
  return policy;
}

TEST(S3Settings, OfR2NeverSayAws) {
  const auto url_by = [](const Variables& variables) {
    const Surroundings surroundings = surroundings_of(variables);
    const S3Settings settings = r2_settings("bucket", surroundings, chain_of(surroundings));
    return url_of(settings, settings.region, "x", "");
  };
  EXPECT_EQ(url_by({{"R2_ACCOUNT_ID", "abc"}, {"AWS_ENDPOINT_URL", "http://other"}}),
            "https://abc.r2.cloudflarestorage.com/bucket/x");
  EXPECT_EQ(url_by({{"CLOUDFLARE_ACCOUNT_ID", "abc"}}),
            "https://abc.r2.cloudflarestorage.com/bucket/x");
  EXPECT_EQ(url_by({{"R2_ENDPOINT_URL", "http://127.0.0.1:1/"}, {"R2_ACCOUNT_ID", "abc"}}),
            "http://127.0.0.1:1/bucket/x");
  EXPECT_EQ(url_by({{"R2_ENDPOINT_URL", "http://127.0.0.1:1/bucket/"}}),
            "http://127.0.0.1:1/bucket/x");
  EXPECT_EQ(url_by({{"R2_ENDPOINT_URL", "http://bucket"}}), "http://bucket/bucket/x");
  EXPECT_EQ(url_by({{"AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2"}}), "http://127.0.0.1:2/bucket/x");
  for (const char* account : {"https://abc.r2.cloudflarestorage.com", "x.y/z"}) {
    EXPECT_ERROR(url_by({{"R2_ACCOUNT_ID", account}}), invalid_argument, .path = "r2://bucket");
  }
  EXPECT_ERROR(url_by({}), invalid_argument, .path = "r2://bucket", .subject = argument);
  EXPECT_ERROR(url_by({{"AWS_ENDPOINT_URL", "https://s3.us-east-1.amazonaws.com"}}),
               invalid_argument, .path = "r2://bucket", .subject = argument);
}

TEST(S3Settings, SayWhereABucketIs) {
  EXPECT_EQ(url_with("bucket", {}), "https://bucket.s3.amazonaws.com/a%20b/c%2Bd?x=1");
  EXPECT_EQ(url_with("bucket", {{"AWS_REGION", "eu-west-1"}}),
            "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c%2Bd?x=1");
  EXPECT_EQ(url_with("bucket", {{"AWS_DEFAULT_REGION", "cn-north-1"}}),
            "https://bucket.s3.cn-north-1.amazonaws.com.cn/a%20b/c%2Bd?x=1");
  // No certificate holds for a host with more dots.
  EXPECT_EQ(url_with("my.bucket", {}), "https://s3.amazonaws.com/my.bucket/a%20b/c%2Bd?x=1");
  EXPECT_EQ(url_with("bucket", {{"AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"}}),
            "http://127.0.0.1:9000/bucket/a%20b/c%2Bd?x=1");
  EXPECT_EQ(url_with("bucket", {{"AWS_ENDPOINT_URL", "http://x"},
                                {"AWS_ENDPOINT_URL_S3", "https://account.r2.example/base"}}),
            "https://account.r2.example/base/bucket/a%20b/c%2Bd?x=1");
  EXPECT_EQ(url_with("bucket", {{"AWS_ENDPOINT_URL", "http://x"},
                                {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}}),
            "https://bucket.s3.amazonaws.com/a%20b/c%2Bd?x=1");
  EXPECT_ERROR(url_with("bucket", {{"AWS_ENDPOINT_URL", "127.0.0.1:9000"}}), invalid_argument);
}

TEST(S3Settings, AreThoseOfTheProfile) {
  const testing::TempDir home;
  testing::write_file(home / ".aws/config",
                      "[default]\nendpoint_url = https://oss.example\nregion = r\ns3 =\n"
                      "  addressing_style = virtual\n"
                      "[profile services]\nservices = mine\n[services mine]\ns3 =\n"
                      "  endpoint_url = http://127.0.0.1:1\n");
  const auto url = [&](const Variables& variables) {
    const S3Settings settings =
        settings_of("bucket", surroundings_of(variables, nullptr, home.path()));
    return url_of(settings, settings.region, "k", "");
  };
  EXPECT_EQ(url({}), "https://bucket.oss.example/k");
  EXPECT_EQ(url({{"AWS_PROFILE", "services"}}), "http://127.0.0.1:1/bucket/k");
}

// As botocore 1.44 has them.
TEST(S3Settings, HasTheHostsOfEveryPartitionAndKind) {
  const auto host = [](const Variables& variables) {
    return parse_url(url_with("bucket", variables), "x").host;
  };
  EXPECT_EQ(host({{"AWS_REGION", "cn-north-1"}}), "bucket.s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(host({{"AWS_REGION", "us-iso-east-1"}}), "bucket.s3.us-iso-east-1.c2s.ic.gov");
  EXPECT_EQ(host({{"AWS_REGION", "us-isob-east-1"}}), "bucket.s3.us-isob-east-1.sc2s.sgov.gov");
  EXPECT_EQ(host({{"AWS_REGION", "eusc-de-east-1"}}), "bucket.s3.eusc-de-east-1.amazonaws.eu");
  EXPECT_EQ(host({{"AWS_REGION", "us-east-1"}, {"AWS_USE_FIPS_ENDPOINT", "true"}}),
            "bucket.s3-fips.us-east-1.amazonaws.com");
  EXPECT_EQ(host({{"AWS_REGION", "us-east-1"}, {"AWS_USE_DUALSTACK_ENDPOINT", "true"}}),
            "bucket.s3.dualstack.us-east-1.amazonaws.com");
  EXPECT_EQ(host({{"AWS_REGION", "us-east-1"},
                  {"AWS_USE_FIPS_ENDPOINT", "true"},
                  {"AWS_USE_DUALSTACK_ENDPOINT", "true"}}),
            "bucket.s3-fips.dualstack.us-east-1.amazonaws.com");
}

TEST(S3Requests, FindTheRegionOnce) {
  const auto client = std::make_shared<CannedClient>([](const SentRequest& asked) {
    if (asked.url.starts_with("https://bucket.s3.ap-south-1.")) return answer_of(200, "x");
    return answer_of(301,
                     "<Error><Code>PermanentRedirect</Code><Message>Use the right one</Message>"
                     "</Error>",
                     {{"x-amz-bucket-region", "ap-south-1"}});
  });
  S3Requests requests(settings_of("bucket", surroundings_of(kKeys)), client, hasty());
  S3Call call;
  call.key = "k";
  EXPECT_EQ(requests.fetch(call).body, "x");
  EXPECT_EQ(requests.fetch(call).body, "x");
  const auto asked = client->asked();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_NE(asked[0].header("Authorization").find("/us-east-1/s3/"), std::string::npos);
  EXPECT_NE(asked[1].header("Authorization").find("/ap-south-1/s3/"), std::string::npos);
}

TEST(S3Requests, TakeNewCredentialsWhenTheOldHaveEnded) {
  std::atomic<int> number = 0;
  const auto services = std::make_shared<CannedClient>([&](const SentRequest&) {
    return answer_of(200, fmt::format(R"({{"AccessKeyId": "K{}", "SecretAccessKey": "S",
                                           "Token": "T", "Expiration": "2026-11-27T04:00:00Z"}})",
                                      ++number));
  });
  const auto store = std::make_shared<CannedClient>([](const SentRequest& asked) {
    if (asked.header("Authorization").find("Credential=K2/") != std::string::npos) {
      return answer_of(206, "bytes", {{"content-range", "bytes 0-4/9"}});
    }
    return answer_of(400, "<Error><Code>ExpiredToken</Code><Message>ended</Message></Error>");
  });
  const Surroundings surroundings =
      surroundings_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}}, services);
  S3Requests requests(settings_of("bucket", surroundings), store, hasty());
  std::string bytes(5, '\0');
  std::promise<std::exception_ptr> done;
  requests.read_range("k", {.into = std::as_writable_bytes(std::span(bytes))},
                      [&](std::exception_ptr error) { done.set_value(std::move(error)); });
  EXPECT_EQ(done.get_future().get(), nullptr);
  EXPECT_EQ(bytes, "bytes");
  EXPECT_EQ(number, 2);
}

TEST(S3Requests, FailWhenThereAreNoOtherCredentials) {
  const auto store = std::make_shared<CannedClient>([](const SentRequest&) {
    return answer_of(400, "<Error><Code>ExpiredToken</Code><Message>ended</Message></Error>");
  });
  S3Requests requests(settings_of("bucket", surroundings_of(kKeys)), store, hasty());
  S3Call call;
  call.key = "k";
  const HttpResponse response = requests.fetch(call);
  EXPECT_ERROR(throw requests.failure(response, "k", "read"), invalid_argument,
               .path = "s3://bucket/k");
  EXPECT_EQ(store->asked().size(), 2U);
}

TEST(S3Requests, NameTheAddressWhereThereAreNoCredentials) {
  const auto store =
      std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(200); });
  S3Requests requests(settings_of("bucket", surroundings_of({})), store, hasty());
  S3Call call;
  call.key = "k";
  EXPECT_ERROR(requests.fetch(call), invalid_argument, .path = "s3://bucket/k");
  EXPECT_TRUE(store->asked().empty());
}

TEST(S3Requests, CarryWhoPays) {
  const auto store =
      std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(200); });
  S3Requests requests(
      settings_of("bucket", surroundings_of(with_keys({{"AWS_REQUEST_PAYER", "requester"}}))),
      store, hasty());
  requests.fetch({});
  const SentRequest asked = store->asked().at(0);
  EXPECT_EQ(asked.header("x-amz-request-payer"), "requester");
  EXPECT_NE(asked.header("Authorization").find("x-amz-request-payer"), std::string::npos);
}

TEST(S3Requests, AreNotSignedForPublicBuckets) {
  const auto store =
      std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(200); });
  S3Requests requests(settings_of("bucket", surroundings_of({{"AWS_NO_SIGN_REQUEST", "YES"}})),
                      store, hasty());
  requests.fetch({});
  EXPECT_TRUE(store->asked().at(0).headers.empty());
}

TEST(GsSettings, SpeakTheXmlApi) {
  const auto tokens = std::make_shared<CannedClient>([](const SentRequest&) {
    return answer_of(200, R"({"access_token": "ya29", "expires_in": 3599})");
  });
  const auto gs = [&](const Variables& variables) {
    const Surroundings surroundings = surroundings_of(variables, tokens);
    return gs_settings(
        "bucket", surroundings,
        std::make_shared<Renewed<BearerToken>>(
            [surroundings] { return find_google_token(surroundings); }, surroundings.now));
  };
  EXPECT_EQ(url_of(gs({}), "auto", "k", ""), "https://storage.googleapis.com/bucket/k");
  EXPECT_EQ(url_of(gs({{"STORAGE_EMULATOR_HOST", "127.0.0.1:4443"}}), "auto", "k", ""),
            "http://127.0.0.1:4443/bucket/k");
  const auto store =
      std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(200); });
  for (const Variables& variables :
       {Variables{{"GS_USER_PROJECT", "p"}},
        Variables{{"GS_ACCESS_KEY_ID", "G"}, {"GS_SECRET_ACCESS_KEY", "s"}},
        Variables{{"GS_NO_SIGN_REQUEST", "1"}}}) {
    S3Requests(gs(variables), store, hasty()).fetch({});
  }
  const auto asked = store->asked();
  EXPECT_EQ(asked.at(0).header("Authorization"), "Bearer ya29");
  EXPECT_EQ(asked.at(0).header("x-goog-user-project"), "p");
  EXPECT_TRUE(asked.at(1).header("Authorization").starts_with("GOOG4-HMAC-SHA256 Credential=G/"));
  EXPECT_EQ(asked.at(2).header("Authorization"), "");
}

}  // namespace
}  // namespace ffkit
