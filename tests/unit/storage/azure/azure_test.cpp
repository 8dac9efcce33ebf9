#include "addresses/url.h"
#include "azure/azure_settings.h"
#include "canned_client.h"
#include "protocol/answers.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;
using testing::surroundings_of;
using Variables = std::map<std::string, std::string>;

constexpr const char* kInString = "AZURE_STORAGE_CONNECTION_STRING";

// The request as a store sends it: with a range, which is added behind the authorizer.
HttpRequest sent_by(const S3Settings& settings, const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.url = url_of(settings, "", "a b/x", "");
  settings.authorizer->authorize(request, "");
  request.headers.emplace_back("Range: bytes=0-9");
  if (request.sign) request.sign(request);
  return request;
}

std::string header(const HttpRequest& request, const std::string& name) {
  for (const std::string& line : request.headers) {
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  }
  return {};
}

TEST(SharedKey, SignsAsMicrosoftsPageSays) {
  HttpRequest request;
  request.url =
      "https://myaccount.blob.core.windows.net/mycontainer?restype=container&comp=metadata&"
      "timeout=20";
  request.headers = {"x-ms-version: 2015-02-21", "x-ms-date: Fri, 26 Jun 2015 23:39:12 GMT"};
  EXPECT_EQ(shared_key_text(request, "myaccount"),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
            "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\n"
            "timeout:20");
}

// By azure-storage-blob 12.31.1.
TEST(SharedKey, SignsAsAzuresOwnClient) {
  const SigningKeys keys{.id = "a", .secret = std::string(64, 'k'), .token = {}};
  const std::string body = "abc";
  const auto signature = [&](const std::string& method, const std::string& url,
                             std::vector<std::string> headers) {
    HttpRequest request;
    request.method = method;
    request.url = url;
    request.headers = std::move(headers);
    if (method == "PUT") request.body = std::as_bytes(std::span(body));
    request.headers.emplace_back("x-ms-version: 2020-12-06");
    request.headers.push_back("x-ms-date: " + http_date(Moment(std::chrono::seconds(1796054786))));
    sign_by_shared_key(request, keys);
    return header(request, "Authorization");
  };
  EXPECT_EQ(signature("GET",
                      "https://a.blob.core.windows.net/box?restype=container&comp=list&"
                      "prefix=set%2Fa%20b%2F&delimiter=%2F&marker=x%2By",
                      {}),
            "SharedKey a:OnCIS2FhbwfAgh6O0IaRTi9Cnys+rApKh51kjUEH4g0=");
  EXPECT_EQ(signature("PUT", "https://a.blob.core.windows.net/box/a%20b%2Bc/%C3%BC.ffr",
                      {"Content-Type: application/octet-stream", "If-None-Match: *",
                       "x-ms-blob-type: BlockBlob"}),
            "SharedKey a:Ay8f6n/YaRy//mjmx/T6PBvHHUhp6S/JZcQRmVS0Me0=");
  EXPECT_EQ(signature("PUT", "http://127.0.0.1:10000/a/box/x?comp=block&blockid=YWJj%3D", {}),
            "SharedKey a:JUN64QA9pl4o1BdxuqkMU0Qwqe5BcUHsqiVe/w56HlU=");
}

TEST(ConnectionString, HasTheAccountItsSecretAndItsEndpoint) {
  const ConnectionString whole = parse_connection_string(
      "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5==;"
      "EndpointSuffix=core.chinacloudapi.cn;");
  EXPECT_EQ(whole.account, "a");
  EXPECT_EQ(whole.key, "a2V5==");
  EXPECT_EQ(whole.endpoint, "https://a.blob.core.chinacloudapi.cn");
  const ConnectionString emulator = parse_connection_string(
      " accountname = a ; AccountKey=k;BlobEndpoint=http://127.0.0.1:10000/a/");
  EXPECT_EQ(emulator.account, "a");
  EXPECT_EQ(emulator.endpoint, "http://127.0.0.1:10000/a");
  const ConnectionString shared = parse_connection_string(
      "BlobEndpoint=https://b.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=x%3D");
  EXPECT_EQ(shared.account, "b");
  EXPECT_EQ(shared.sas, "sv=1&sig=x%3D");
  EXPECT_EQ(parse_connection_string("BlobEndpoint=http://127.0.0.1:1/c").account, "c");
  const ConnectionString azurite = parse_connection_string("UseDevelopmentStorage=true;");
  EXPECT_EQ(azurite.account, "devstoreaccount1");
  EXPECT_EQ(azurite.endpoint, "http://127.0.0.1:10000/devstoreaccount1");
  EXPECT_TRUE(azurite.key.starts_with("Eby8vdM02xNOcq"));
  EXPECT_EQ(parse_connection_string("AccountName=a").endpoint, "https://a.blob.core.windows.net");
  for (const char* text : {"secret", "AccountKey=secret", "BlobEndpoint=ftp://x;AccountKey=secret",
                           "BlobEndpoint=secret", "="}) {
    EXPECT_ERROR(parse_connection_string(text), invalid_argument, .subject = argument);
  }
}

TEST(AzureSettings, SayWhereAContainerIsAndWhoAsks) {
  const auto settings = [](const Variables& variables) {
    return azure_settings("account/box", surroundings_of(variables));
  };
  const HttpRequest keyed =
      sent_by(settings({{"AZURE_STORAGE_KEY", "a2V5"}, {"AZURE_STORAGE_ACCOUNT", "account"}}));
  EXPECT_EQ(keyed.url, "https://account.blob.core.windows.net/box/a%20b/x");
  EXPECT_EQ(header(keyed, "x-ms-date"), "Thu, 26 Nov 2026 22:00:00 GMT");
  EXPECT_TRUE(header(keyed, "Authorization").starts_with("SharedKey account:"));
  EXPECT_EQ(header(keyed, "x-ms-blob-type"), "");
  EXPECT_EQ(header(sent_by(settings({{"AZURE_STORAGE_KEY", "a2V5"}}), "PUT"), "x-ms-blob-type"),
            "BlockBlob");
  const HttpRequest shared = sent_by(settings({{"AZURE_STORAGE_SAS_TOKEN", "?sig=a b"}}));
  EXPECT_EQ(shared.url, "https://account.blob.core.windows.net/box/a%20b/x?sig=a%20b");
  // A string of another account gives neither its key nor its endpoint.
  const HttpRequest other = sent_by(settings(
      {{kInString, "AccountName=b;AccountKey=a2V5"}, {"AZURE_STORAGE_SAS_TOKEN", "sig=s"}}));
  EXPECT_EQ(other.url, "https://account.blob.core.windows.net/box/a%20b/x?sig=s");
  EXPECT_ERROR(settings({{"AZURE_STORAGE_KEY", "no base64"}}), invalid_argument,
               .subject = argument);
}

TEST(AzureToken, SaysWhenItEnds) {
  const auto token_by = [](const std::string& answer) {
    const auto client = std::make_shared<CannedClient>(
        [answer](const SentRequest&) { return answer_of(200, answer); });
    return find_azure_token(surroundings_of({}, client), {});
  };
  EXPECT_EQ(token_by(R"({"access_token": "t", "expires_on": "1795734000"})").expires,
            testing::kNow + std::chrono::seconds(3600));
  EXPECT_EQ(token_by(R"({"access_token": "t", "expires_in": 60})").expires,
            testing::kNow + std::chrono::seconds(60));
  EXPECT_ERROR_CODE(token_by(R"({"access_token": ""})"), invalid_argument, .subject = argument);
}

TEST(BlobPage, HasBlobsAndFolders) {
  const ListPage page = parse_blob_page(
      "<?xml version=\"1.0\"?><EnumerationResults><Blobs><Blob><Name>a &amp; b</Name><Properties>"
      "<Content-Length>3</Content-Length><Etag>0x8D</Etag></Properties></Blob><Blob><Name>f</Name>"
      "<Properties><ResourceType>directory</ResourceType><Etag>1</Etag></Properties></Blob><Blob>"
      "<Name>u</Name><Properties/></Blob><BlobPrefix><Name>p/</Name></BlobPrefix></Blobs>"
      "<NextMarker>2!x</NextMarker></EnumerationResults>");
  ASSERT_EQ(page.keys.size(), 2U);
  EXPECT_EQ(page.keys[0].key, "a & b");
  EXPECT_EQ(page.keys[0].num_bytes, 3);
  EXPECT_EQ(page.keys[0].version, "\"0x8D\"");
  EXPECT_EQ(page.prefixes, std::vector<std::string>{"p/"});
  EXPECT_EQ(page.next, "2!x");
  EXPECT_ERROR(parse_blob_page("<EnumerationResults/>"), corrupt);
}

}  // namespace
}  // namespace ffkit
