#include "credentials/aws_credentials.h"

#include "canned_client.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::answer_of;
using testing::CannedClient;
using testing::SentRequest;
using testing::surroundings_of;
using Variables = std::map<std::string, std::string>;

constexpr const char* kStsAnswer =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>"
    "<SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-token</SessionToken>"
    "<Expiration>2026-11-26T23:00:00Z</Expiration></Credentials></AssumeRoleResult>"
    "</AssumeRoleResponse>";

TEST(AwsCredentials, AreThoseOfTheEnvironmentFirst) {
  const AwsCredentials found = find_aws_credentials(surroundings_of(
      {{"AWS_ACCESS_KEY_ID", "AKIA"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", "t"}}));
  EXPECT_EQ(found.keys.id, "AKIA");
  EXPECT_EQ(found.keys.secret, "s");
  EXPECT_EQ(found.keys.token, "t");
  EXPECT_FALSE(found.expires.has_value());
}

TEST(AwsCredentials, AreRefusedByHalves) {
  EXPECT_ERROR(find_aws_credentials(surroundings_of({{"AWS_ACCESS_KEY_ID", "AKIA"}})),
               invalid_argument);
}

TEST(AwsCredentials, SayWhereTheyWereLookedFor) {
  const TempDir home;
  write_file(home / ".aws/config", "[default]\nregion = eu-central-1\n");
  EXPECT_ERROR(find_aws_credentials(surroundings_of({})), invalid_argument);
  EXPECT_ERROR(find_aws_credentials(
                   surroundings_of({{"AWS_EC2_METADATA_DISABLED", "true"}}, nullptr, home.path())),
               invalid_argument);
  EXPECT_ERROR(
      find_aws_credentials(surroundings_of({{"AWS_PROFILE", "prod"}}, nullptr, home.path())),
      invalid_argument);
}

TEST(AwsCredentials, AreThoseOfAProfile) {
  const TempDir home;
  write_file(home / ".aws/config",
             "[profile dev]\nregion = eu-west-1\naws_access_key_id = other\n"
             "[profile tool]\ncredential_process = tool --json\n");
  write_file(home / ".aws/credentials",
             "[default]\naws_access_key_id = A\naws_secret_access_key = B\n"
             "[dev]\naws_access_key_id = C\naws_secret_access_key = D\naws_session_token = E\n");
  EXPECT_EQ(find_aws_credentials(surroundings_of({}, nullptr, home.path())).keys.id, "A");
  const Surroundings dev = surroundings_of({{"AWS_PROFILE", "dev"}}, nullptr, home.path());
  EXPECT_EQ(find_aws_credentials(dev).keys.id, "C");
  EXPECT_EQ(find_aws_credentials(dev).keys.token, "E");
  EXPECT_EQ(configured_region(dev, AwsProfiles(dev)), "eu-west-1");
  Surroundings tool = surroundings_of({{"AWS_PROFILE", "tool"}}, nullptr, home.path());
  tool.run = [](const std::string& command) {
    EXPECT_EQ(command, "tool --json");
    return R"({"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "Q", "SessionToken": "R",
               "Expiration": "2026-11-26T23:00:00+01:00"})";
  };
  EXPECT_EQ(find_aws_credentials(tool).keys.secret, "Q");
  EXPECT_EQ(find_aws_credentials(tool).expires, testing::kNow);
  tool.run = [](const std::string&) { return "secret-that-is-no-json"; };
  EXPECT_ERROR(find_aws_credentials(tool), invalid_argument);
}

TEST(AwsCredentials, AreThoseOfARoleThatAnotherProfileTakesOn) {
  const TempDir home;
  write_file(home / ".aws/config",
             "[profile a]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = b\nexternal_id = x\n"
             "region = eu-west-1\n[profile b]\nrole_arn = arn:aws:iam::1:role/b\n"
             "source_profile = c\n[profile c]\naws_access_key_id = C\naws_secret_access_key = D\n"
             "[profile loop]\nrole_arn = arn:aws:iam::1:role/l\nsource_profile = loop2\n"
             "[profile loop2]\nrole_arn = arn:aws:iam::1:role/l\nsource_profile = loop\n"
             "[profile mfa]\nrole_arn = r\nmfa_serial = m\nsource_profile = c\n"
             "[profile alone]\nrole_arn = r\n");
  const auto client =
      std::make_shared<CannedClient>([](const SentRequest&) { return answer_of(200, kStsAnswer); });
  const AwsCredentials found =
      find_aws_credentials(surroundings_of({{"AWS_PROFILE", "a"}}, client, home.path()));
  EXPECT_EQ(found.keys.id, "ASIA");
  EXPECT_EQ(found.keys.token, "role-token");
  EXPECT_EQ(found.expires, testing::kNow + std::chrono::hours(1));
  const auto asked = client->asked();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_NE(asked[0].body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fb"), std::string::npos);
  EXPECT_NE(asked[0].header("Authorization").find("Credential=C/20261126/eu-west-1/sts/"),
            std::string::npos);
  EXPECT_NE(asked[1].body.find("ExternalId=x"), std::string::npos);
  EXPECT_EQ(asked[1].header("x-amz-security-token"), "role-token");
  for (const char* profile : {"loop", "mfa", "alone"}) {
    EXPECT_ANY_THROW(
        find_aws_credentials(surroundings_of({{"AWS_PROFILE", profile}}, client, home.path())));
  }
  EXPECT_ERROR(
      find_aws_credentials(surroundings_of({{"AWS_PROFILE", "loop"}}, client, home.path())),
      invalid_argument);
  EXPECT_ERROR(find_aws_credentials(surroundings_of({{"AWS_PROFILE", "mfa"}}, client, home.path())),
               unsupported);
  EXPECT_ERROR(
      find_aws_credentials(surroundings_of({{"AWS_PROFILE", "alone"}}, client, home.path())),
      invalid_argument);
}

TEST(AwsCredentials, AreThoseOfAWebIdentity) {
  const TempDir home;
  write_file(home / "token", "header.claim.signature\n");
  const Variables variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", (home / "token").string()},
                               {"AWS_ROLE_ARN", "arn:aws:iam::1:role/pod"},
                               {"AWS_ENDPOINT_URL_STS", "http://127.0.0.1:5000"}};
  std::string body = kStsAnswer;
  for (size_t at = 0; (at = body.find("AssumeRole", at)) != std::string::npos; at += 25) {
    body.replace(at, 10, "AssumeRoleWithWebIdentity");
  }
  int status = 200;
  const auto client =
      std::make_shared<CannedClient>([&](const SentRequest&) { return answer_of(status, body); });
  EXPECT_EQ(find_aws_credentials(surroundings_of(variables, client, home.path())).keys.id, "ASIA");
  const SentRequest asked = client->asked().at(0);
  EXPECT_EQ(asked.url, "http://127.0.0.1:5000/");
  EXPECT_NE(asked.body.find("WebIdentityToken=header.claim.signature"), std::string::npos);
  EXPECT_EQ(asked.header("Authorization"), "");
  status = 403;
  body =
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized to perform "
      "sts:AssumeRoleWithWebIdentity</Message></Error></ErrorResponse>";
  EXPECT_ERROR(find_aws_credentials(surroundings_of(variables, client, home.path())),
               invalid_argument);
  status = 503;
  const size_t num_asked = client->asked().size();
  EXPECT_ERROR(find_aws_credentials(surroundings_of(variables, client, home.path())), io);
  EXPECT_EQ(client->asked().size(), num_asked + 3);
  write_file(home / "token", "");
  EXPECT_ERROR(find_aws_credentials(surroundings_of(variables, client, home.path())),
               invalid_argument, .path = (home / "token").string());
}

// A pod has a web identity of its own, and AWS_PROFILE names a role of another account.
TEST(AwsCredentials, AProfilesRoleGoesBeforeAWebIdentityOfTheEnvironment) {
  const TempDir home;
  write_file(home / "token", "pod\n");
  write_file(home / ".aws/config",
             "[profile other]\nROLE_ARN: arn:aws:iam::2:role/other\nSource_Profile = keys\n"
             "[profile keys]\naws_access_key_id = C\naws_secret_access_key = D\n"
             "role_arn = arn:aws:iam::3:role/unused\nsource_profile = keys\n"
             "[profile web]\nrole_arn = arn:aws:iam::2:role/web\n"
             "web_identity_token_file = " +
                 (home / "token").string() + "\n");
  const Variables pod = {{"AWS_WEB_IDENTITY_TOKEN_FILE", home / "token"},
                         {"AWS_ROLE_ARN", "arn:aws:iam::1:role/pod"}};
  const auto role_asked_for = [&](Variables variables) {
    const auto client = std::make_shared<CannedClient>([](const SentRequest& asked) {
      std::string answer = kStsAnswer;
      if (asked.body.find("WebIdentity") == std::string::npos) return answer_of(200, answer);
      for (const std::string& name :
           {std::string("AssumeRoleResult"), std::string("AssumeRoleResponse")}) {
        for (size_t at = answer.find(name); at != std::string::npos;
             at = answer.find(name, at + 30)) {
          answer.insert(at + 10, "WithWebIdentity");
        }
      }
      return answer_of(200, answer);
    });
    find_aws_credentials(surroundings_of(std::move(variables), client, home.path()));
    const std::string body = client->asked().back().body;
    const size_t begin = body.find("role%2F") + 7;
    return body.substr(begin, body.find('&', begin) - begin);
  };
  EXPECT_EQ(role_asked_for(pod), "pod");
  Variables chosen = pod;
  chosen["AWS_PROFILE"] = "other";
  EXPECT_EQ(role_asked_for(chosen), "other");
  // The environment's values go before those of a profile with a web identity.
  chosen["AWS_PROFILE"] = "web";
  EXPECT_EQ(role_asked_for(chosen), "pod");
  EXPECT_EQ(role_asked_for({{"AWS_PROFILE", "web"}}), "web");
  EXPECT_ERROR(find_aws_credentials(surroundings_of(
                   {{"AWS_WEB_IDENTITY_TOKEN_FILE", home / "token"}}, nullptr, home.path())),
               invalid_argument, .path = home / "token");
}

TEST(AwsProfiles, ARegionIsAName) {
  const auto region = [](const std::string& text) {
    const Surroundings surroundings = surroundings_of({{"AWS_REGION", text}});
    return configured_region(surroundings, AwsProfiles(surroundings));
  };
  EXPECT_EQ(region("eu-central-1"), "eu-central-1");
  EXPECT_ERROR(region("eu.evil/"), invalid_argument);
  EXPECT_ERROR(region("eu central"), invalid_argument);
}

TEST(AwsCredentials, AreThoseOfAContainer) {
  const TempDir home;
  write_file(home / "token", "pod-token");
  const auto client = std::make_shared<CannedClient>([](const SentRequest&) {
    return answer_of(200, R"({"AccessKeyId": "K", "SecretAccessKey": "S", "Token": "T",
                              "Expiration": "2026-11-26T22:30:00Z"})");
  });
  const Variables variables = {
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (home / "token").string()}};
  EXPECT_EQ(find_aws_credentials(surroundings_of(variables, client)).keys.token, "T");
  EXPECT_EQ(client->asked().at(0).header("Authorization"), "pod-token");
  find_aws_credentials(
      surroundings_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"}}, client));
  EXPECT_EQ(client->asked().at(1).url, "http://169.254.170.2/v2/x");
  EXPECT_ERROR(find_aws_credentials(surroundings_of(
                   {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/x"}}, client)),
               invalid_argument);
  EXPECT_ERROR(
      find_aws_credentials(surroundings_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"}})),
      io);
}

TEST(AwsCredentials, AreThoseOfTheInstance) {
  const auto client = std::make_shared<CannedClient>([](const SentRequest& asked) {
    if (asked.method == "PUT") return answer_of(200, "imds-token");
    if (asked.header("X-aws-ec2-metadata-token") != "imds-token") return answer_of(401);
    if (asked.url.ends_with("/")) return answer_of(200, "my-role\n");
    return answer_of(200, R"({"Code": "Success", "AccessKeyId": "K", "SecretAccessKey": "S",
                              "Token": "T", "Expiration": "2026-11-27T04:00:00Z"})");
  });
  const AwsCredentials found = find_aws_credentials(
      surroundings_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/"}}, client));
  EXPECT_EQ(found.keys.id, "K");
  EXPECT_EQ(found.source, "the instance's role 'my-role'");
  EXPECT_EQ(client->asked().at(2).url,
            "http://127.0.0.1:1338/latest/meta-data/iam/security-credentials/my-role");
}

TEST(AwsCredentials, AreThoseOfSso) {
  const TempDir home;
  write_file(home / ".aws/config",
             "[profile dev]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = Reader\n"
             "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://x/start\n"
             "[profile lost]\nsso_session = none\n");
  const auto file = home / ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";  // corp
  int token_status = 200;
  const auto client = std::make_shared<CannedClient>([&](const SentRequest& asked) {
    if (asked.url.ends_with("/token")) {
      return answer_of(token_status,
                       R"({"accessToken": "new", "expiresIn": 3600, "refreshToken": "r2"})");
    }
    return answer_of(200, R"({"roleCredentials": {"accessKeyId": "K", "secretAccessKey": "S",
                              "sessionToken": "T", "expiration": 1795734000000}})");
  });
  const Surroundings surroundings = surroundings_of({{"AWS_PROFILE", "dev"}}, client, home.path());
  EXPECT_ERROR(find_aws_credentials(surroundings), invalid_argument);
  write_file(file, R"({"accessToken": "old", "expiresAt": "2026-11-26T22:30:00Z"})");
  EXPECT_EQ(find_aws_credentials(surroundings).keys.token, "T");
  EXPECT_EQ(find_aws_credentials(surroundings).expires, testing::kNow + std::chrono::hours(1));
  const SentRequest asked = client->asked().at(0);
  EXPECT_EQ(asked.url,
            "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?role_name=Reader&"
            "account_id=123");
  EXPECT_EQ(asked.header("x-amz-sso_bearer_token"), "old");

  write_file(file, R"({"accessToken": "old", "expiresAt": "2026-11-26T21:30:00UTC"})");
  EXPECT_ERROR(find_aws_credentials(surroundings), invalid_argument);
  write_file(file, R"({"accessToken": "old", "expiresAt": "2026-11-26T21:30:00Z",
                       "clientId": "c", "clientSecret": "s", "refreshToken": "r", "region": "x"})");
  token_status = 400;
  EXPECT_ERROR(find_aws_credentials(surroundings), invalid_argument);
  token_status = 200;
  EXPECT_EQ(find_aws_credentials(surroundings).keys.token, "T");
  EXPECT_EQ(client->asked().back().header("x-amz-sso_bearer_token"), "new");
  const JsonAnswer kept(testing::read_file(file));
  EXPECT_EQ(kept.text("refreshToken"), "r2");
  EXPECT_EQ(kept.text("expiresAt"), "2026-11-26T23:00:00Z");
  EXPECT_EQ(kept.text("region"), "x");
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  EXPECT_ERROR(
      find_aws_credentials(surroundings_of({{"AWS_PROFILE", "lost"}}, client, home.path())),
      invalid_argument);
}

TEST(IniFile, HasSectionsAndValues) {
  const IniFile file = parse_ini(
      "stray = 1\n# a comment\n; another\n[default]\naws_access_key_id=AKIA\r\n"
      "aws_secret_access_key = a/b+c= # not of it\nempty =\n\n"
      "[ profile  \"dev\" ]\ns3 =\n  addressing_style = path\n\tmax = 1#2\nregion = eu-central-1\n"
      "no value\n[broken\nx = 1");
  EXPECT_EQ(file.at("default").at("aws_access_key_id"), "AKIA");
  EXPECT_EQ(file.at("default").at("aws_secret_access_key"), "a/b+c=");
  EXPECT_EQ(file.at("default").at("empty"), "");
  EXPECT_EQ(file.at("profile dev").at("s3.addressing_style"), "path");
  EXPECT_EQ(file.at("profile dev").at("s3.max"), "1#2");
  EXPECT_EQ(file.at("profile dev").at("region"), "eu-central-1");
  EXPECT_EQ(file.at("broken").at("x"), "1");
  EXPECT_FALSE(file.contains("stray"));
}

TEST(IniFile, MayBeAnything) {
  EXPECT_TRUE(parse_ini("").empty());
  EXPECT_EQ(parse_ini("[").size(), 1U);
  EXPECT_EQ(parse_ini("[]\n=\n = x").at("").size(), 1U);
}

}  // namespace
}  // namespace ffkit
