#include "credentials/bearer_tokens.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "canned_client.h"
#include "signing/signature.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;
using testing::surroundings_of;

std::shared_ptr<CannedClient> token_service() {
  return std::make_shared<CannedClient>([](const SentRequest&) {
    return answer_of(200, R"({"access_token": "ya29", "expires_in": 3599})");
  });
}

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::string pem_of(const Key& key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PrivateKey(file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(file.get(), &text);
  return {text, static_cast<size_t>(size)};
}

TEST(GoogleCredentials, AreHmacKeys) {
  EXPECT_FALSE(google_hmac_keys(surroundings_of({})).has_value());
  EXPECT_EQ(
      google_hmac_keys(surroundings_of({{"GS_ACCESS_KEY_ID", "G"}, {"GS_SECRET_ACCESS_KEY", "s"}}))
          ->secret,
      "s");
  EXPECT_ERROR(google_hmac_keys(surroundings_of({{"GS_ACCESS_KEY_ID", "G"}})), invalid_argument);
}

TEST(GoogleCredentials, AreThoseOfAUser) {
  const TempDir home;
  write_file(home / ".config/gcloud/application_default_credentials.json",
             R"({"type": "authorized_user", "client_id": "c", "client_secret": "s/",
                 "refresh_token": "r"})");
  const auto client = token_service();
  const BearerToken token = find_google_token(surroundings_of({}, client, home.path()));
  EXPECT_EQ(token.token, "ya29");
  EXPECT_EQ(token.expires, testing::kNow + std::chrono::seconds(3599));
  EXPECT_EQ(client->asked().at(0).url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(client->asked().at(0).body,
            "grant_type=refresh_token&client_id=c&client_secret=s%2F&refresh_token=r");
  const auto refusing = std::make_shared<CannedClient>(
      [](const SentRequest&) { return answer_of(400, R"({"error": "invalid_grant"})"); });
  EXPECT_ERROR(find_google_token(surroundings_of({}, refusing, home.path())), invalid_argument);
  EXPECT_ERROR(find_google_token(surroundings_of({}, nullptr, home.path())), io);
}

TEST(GoogleCredentials, AreThoseOfAServiceAccount) {
  const TempDir home;
  const Key key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  JsonAnswer file("{}");
  file.set("type", "service_account");
  file.set("client_email", "me@project.iam.gserviceaccount.com");
  file.set("private_key_id", "k1");
  file.set("private_key", pem_of(key));
  file.set("token_uri", "https://tokens.example/token");
  write_file(home / "key.json", file.dump());
  const auto client = token_service();
  const Surroundings surroundings = surroundings_of(
      {{"GOOGLE_APPLICATION_CREDENTIALS", (home / "key.json").string()}}, client, home.path());
  EXPECT_EQ(find_google_token(surroundings).token, "ya29");
  const SentRequest asked = client->asked().at(0);
  EXPECT_EQ(asked.url, "https://tokens.example/token");
  const std::string assertion = asked.body.substr(asked.body.find("assertion=") + 10);
  const size_t first = assertion.find('.');
  const size_t second = assertion.find('.', first + 1);
  const std::string signed_text = assertion.substr(0, second);
  EXPECT_EQ(assertion.substr(second + 1), base64_url(rs256(pem_of(key), signed_text)));
  file.set("private_key", "-----BEGIN PRIVATE KEY-----\nno\n-----END PRIVATE KEY-----\n");
  write_file(home / "key.json", file.dump());
  EXPECT_ERROR(find_google_token(surroundings), invalid_argument);
}

TEST(GoogleCredentials, AreThoseOfTheMachine) {
  const auto client = token_service();
  EXPECT_EQ(
      find_google_token(surroundings_of({{"GCE_METADATA_HOST", "127.0.0.1:99"}}, client)).token,
      "ya29");
  EXPECT_EQ(client->asked().at(0).url,
            "http://127.0.0.1:99/computeMetadata/v1/instance/service-accounts/default/token");
  EXPECT_EQ(client->asked().at(0).header("Metadata-Flavor"), "Google");
}

TEST(GoogleCredentials, SayWhereTheyWereLookedFor) {
  const TempDir home;
  write_file(home / "other.json", R"({"type": "external_account"})");
  write_file(home / "none.json", "text");
  EXPECT_ERROR(find_google_token(surroundings_of({})), invalid_argument);
  EXPECT_ERROR(find_google_token(surroundings_of({{"NO_GCE_CHECK", "true"}})), invalid_argument);
  const auto by_file = [&](const char* name) {
    return surroundings_of({{"GOOGLE_APPLICATION_CREDENTIALS", (home / name).string()}});
  };
  EXPECT_ERROR(find_google_token(by_file("missing.json")), invalid_argument);
  EXPECT_ERROR(find_google_token(by_file("other.json")), unsupported);
  EXPECT_ERROR(find_google_token(by_file("none.json")), invalid_argument);
}

TEST(HuggingFaceToken, IsOfTheEnvironmentOrAFile) {
  const TempDir home;
  EXPECT_EQ(hugging_face_token(surroundings_of({}, nullptr, home.path())), "");
  write_file(home / ".cache/huggingface/token", "hf_default\n");
  write_file(home / "mine", "hf_mine");
  EXPECT_EQ(hugging_face_token(surroundings_of({}, nullptr, home.path())), "hf_default");
  EXPECT_EQ(hugging_face_token(surroundings_of({{"HF_TOKEN_PATH", (home / "mine").string()}},
                                               nullptr, home.path())),
            "hf_mine");
  EXPECT_EQ(hugging_face_token(surroundings_of({{"HF_TOKEN", "hf_env"}}, nullptr, home.path())),
            "hf_env");
  EXPECT_EQ(hugging_face_endpoint(surroundings_of({})), "https://huggingface.co");
  EXPECT_EQ(hugging_face_endpoint(surroundings_of({{"HF_ENDPOINT", "http://127.0.0.1:8000/"}})),
            "http://127.0.0.1:8000");
}

TEST(MomentOf, ReadsWhatServicesWrite) {
  EXPECT_EQ(moment_of("2026-11-26T22:00:00Z"), testing::kNow);
  EXPECT_EQ(moment_of("2026-11-26T22:00:00.123456Z"), testing::kNow);
  EXPECT_EQ(moment_of("2026-11-26T22:00:00UTC"), testing::kNow);
  EXPECT_EQ(moment_of("2026-11-26T23:30:00+01:30"), testing::kNow);
  EXPECT_EQ(moment_of("9999-12-31T23:59:59Z"), moment_of("2200-12-31T23:59:59Z"));
  EXPECT_EQ(moment_of("0001-01-01T00:00:00Z"), moment_of("1900-01-01T00:00:00Z"));
  EXPECT_EQ(text_of_moment(testing::kNow), "2026-11-26T22:00:00Z");
  for (const char* text : {"", "2026-11-26", "2026-13-26T22:00:00Z", "2026-11-26T22:00:00", "x"}) {
    EXPECT_FALSE(moment_of(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ffkit
