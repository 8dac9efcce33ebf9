// The cases of AWS's test suite for Signature Version 4, and the examples of S3's documentation.
#include "signing/signature.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

const Headers kSuiteHeaders = {{"Host", "example.amazonaws.com"},
                               {"X-Amz-Date", "20150830T123600Z"}};
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

SigningTime at(int64_t seconds) {
  return SigningTime(std::chrono::seconds(seconds));
}

// 2015-08-30 12:36:00, service "service".
std::string suite_signature(SignedParts parts) {
  const std::string value =
      authorization(parts, {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""},
                    {"us-east-1", "service"}, at(1440938160));
  return value.substr(value.rfind('=') + 1);
}

SignedParts with(const Headers& more) {
  SignedParts parts{"GET", "/", "", kSuiteHeaders, kEmpty};
  parts.headers.insert(parts.headers.begin() + 1, more.begin(), more.end());
  return parts;
}

TEST(Signature, IsThatOfTheTestSuiteForQueries) {
  const auto signature_of = [](const std::string& path, const std::string& query) {
    return suite_signature({"GET", path, query, kSuiteHeaders, kEmpty});
  };
  EXPECT_EQ(signature_of("/", ""),  // get-vanilla
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signature_of("/", "Param2=value2&Param1=value1"),  // get-vanilla-query-order-key-case
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(signature_of("/", "Param1=value1"),  // get-vanilla-empty-query-key
            "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
  EXPECT_EQ(signature_of("/", "Param1=value2&Param1=Value1"),  // get-vanilla-query-order-key
            "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1");
  EXPECT_EQ(signature_of("/", "Param1=value2&Param1=value1"),  // get-vanilla-query-order-value
            "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694");
  const std::string unreserved =
      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(signature_of("/", unreserved + "=" + unreserved),  // get-vanilla-query-unreserved
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197");
  EXPECT_EQ(signature_of("/", "\xe1\x88\xb4=bar"),  // get-vanilla-utf8-query
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
  EXPECT_EQ(signature_of("/" + unreserved, ""),  // get-unreserved
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  EXPECT_EQ(signature_of("/%E1%88%B4", ""),  // get-utf8
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  EXPECT_EQ(signature_of("/example%20space/", ""),  // get-space, encoded once
            "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741");
}

TEST(Signature, IsThatOfTheTestSuiteForHeaders) {
  EXPECT_EQ(suite_signature(with({{"My-Header1", "value2"},  // get-header-key-duplicate
                                  {"My-Header1", "value2"},
                                  {"My-Header1", "value1"}})),
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
  EXPECT_EQ(suite_signature(with({{"My-Header1", "value4"},  // get-header-value-order
                                  {"My-Header1", "value1"},
                                  {"My-Header1", "value3"},
                                  {"My-Header1", "value2"}})),
            "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01");
  EXPECT_EQ(suite_signature(with({{"My-Header1", " value1"},  // get-header-value-trim
                                  {"My-Header2", " \"a   b   c\""}})),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

TEST(Signature, IsThatOfTheTestSuiteForPosts) {
  const auto post = [](const Headers& more, const std::string& body) {
    SignedParts parts = with(more);
    parts.method = "POST";
    parts.payload_hash = hex(sha256(std::string_view(body)));
    return suite_signature(parts);
  };
  EXPECT_EQ(post({}, ""),  // post-vanilla
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(post({{"Content-Type", "application/x-www-form-urlencoded"}}, "Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
  EXPECT_EQ(
      post({{"Content-Type", "application/x-www-form-urlencoded; charset=utf8"}}, "Param1=value1"),
      "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe");
}

TEST(Signature, SortsAndEncodesAsTheTestSuite) {
  EXPECT_EQ(canonical_request({"GET", "/", "Param2=value2&Param1=value1", kSuiteHeaders, kEmpty}),
            std::string("GET\n/\nParam1=value1&Param2=value2\nhost:example.amazonaws.com\n"
                        "x-amz-date:20150830T123600Z\n\nhost;x-amz-date\n") +
                kEmpty);
  EXPECT_EQ(canonical_request({"POST", "", "uploads&b=%2b c&a", {}, "x"}),
            "POST\n/\na=&b=%2B%20c&uploads=\n\n\nx");
}

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
class S3Example : public ::testing::Test {
 protected:
  static std::string signature_of(const std::string& method, const std::string& path,
                                  const std::string& query, const Headers& more,
                                  const std::string& payload_hash = kEmpty) {
    SignedParts parts{method, path, query, more, payload_hash};
    parts.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
    parts.headers.emplace_back("x-amz-date", "20130524T000000Z");
    parts.headers.emplace_back("x-amz-content-sha256", payload_hash);
    const std::string value = authorization(
        parts, {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
        {"us-east-1", "s3"}, at(1369353600));
    return value.substr(value.rfind('=') + 1);
  }
};

TEST_F(S3Example, HasTheSignatureOfTheDocumentation) {
  EXPECT_EQ(signature_of("GET", "/test.txt", "", {{"Range", "bytes=0-9"}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature_of("PUT", "/test%24file.text", "",
                         {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                          {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                         hex(sha256(std::string_view("Welcome to Amazon S3.")))),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature_of("GET", "/", "lifecycle", {}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_of("GET", "/", "max-keys=2&prefix=J", {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sign, AddsWhatASignedRequestHas) {
  HttpRequest request;
  request.url = "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J";
  request.headers = {"Range: bytes=0-9"};
  sign(request, {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
       {"us-east-1", "s3"}, at(1369353600), Payload::hashed);
  EXPECT_EQ(request.headers,
            (std::vector<std::string>{
                "Range: bytes=0-9", "x-amz-date: 20130524T000000Z",
                std::string("x-amz-content-sha256: ") + kEmpty,
                "Authorization: AWS4-HMAC-SHA256 "
                "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
                "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}));
}

TEST(Sign, SpeaksGoogle) {
  HttpRequest request;
  request.url = "https://storage.googleapis.com/b/k";
  sign(request, {"GOOG1E", "secret", "token"}, {"auto", "storage"}, at(1369353600),
       Payload::unsigned_payload, kGoogleDialect);
  ASSERT_EQ(request.headers.size(), 4U);
  EXPECT_EQ(request.headers[1], "x-goog-content-sha256: UNSIGNED-PAYLOAD");
  EXPECT_EQ(request.headers[2], "x-goog-security-token: token");
  EXPECT_TRUE(request.headers[3].starts_with(
      "Authorization: GOOG4-HMAC-SHA256 Credential=GOOG1E/20130524/auto/storage/goog4_request, "
      "SignedHeaders=host;x-goog-content-sha256;x-goog-date;x-goog-security-token, Signature="));
}

}  // namespace
}  // namespace ffkit
