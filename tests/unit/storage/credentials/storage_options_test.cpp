// Options of one place in a store: marks, what stands for which variable, and what is refused.
#include <cstdlib>

#include <ffkit/storage/storage_options.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "canned_client.h"
#include "storage/addresses/place.h"
#include "storage/addresses/url.h"
#include "storage/protocol/s3_settings.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSet = "s3://bucket/set";

StorageOptions options_of(std::map<std::string, std::string> values) {
  return {std::move(values)};
}

fs::path marked(std::map<std::string, std::string> values, const char* address = kSet) {
  return with_storage_options(address, options_of(std::move(values)));
}

Surroundings surroundings_at(const fs::path& address) {
  return surroundings_of_mark(parse_address(address.native()).mark);
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(StorageOptions, AMarkGoesAlongWithTheAddressAndIsNotShown) {
  const fs::path one = marked({{"profile", "one"}});
  const fs::path two = marked({{"profile", "two"}});
  EXPECT_NE(one, two);
  EXPECT_EQ(one, marked({{"AWS_PROFILE", "one"}}));  // equal options, whatever their names
  EXPECT_EQ(with_storage_options(one, options_of({{"profile", "two"}})), two);
  EXPECT_EQ(with_storage_options(kSet, {}), kSet);
  EXPECT_EQ(without_storage_options(one), kSet);
  EXPECT_EQ(storage_options_of(one), options_of({{"aws_profile", "one"}}));
  EXPECT_EQ(storage_options_of(kSet), StorageOptions());
  const fs::path below = Place(one).child("train").path() / "shard-00000.ffr";
  EXPECT_EQ(storage_options_of(below), storage_options_of(one));
  const Address parts = parse_address(below.native());
  EXPECT_EQ(parts.path, "set/train/shard-00000.ffr");
  EXPECT_EQ(text_of(parts), below);
  EXPECT_EQ(Place(below).shown(), "s3://bucket/set/train/shard-00000.ffr");
  EXPECT_EQ(marked({{"anon", "yes"}}, "S3://bucket").native().substr(0, 6), "s3://<");
  const fs::path url = marked({{"retry_seconds", "1"}}, "https://h:8/a?id=7");
  EXPECT_EQ(parse_url(url.native(), "it").text(), "https://h:8/a?id=7");
  EXPECT_EQ(shown_address(url.native()), "https://h:8/a?...");
}

TEST(StorageOptions, MarksAreInNoMessage) {
  EXPECT_EQ(without_marks("copies s3://<12>b/x to s3://<3>c/y"), "copies s3://b/x to s3://c/y");
  for (const char* text : {"a://<>b", "a://<1b", "a://<x>b", "<1>", "://<", "://<1", ""}) {
    EXPECT_EQ(without_marks(text), text);
  }
  const fs::path address = marked({{"profile", "one"}});
  const Error error = error_at(address, ErrorCode::io, "'" + (address / "x").native() + "' hangs");
  EXPECT_STREQ(error.what(), "s3://bucket/set: 's3://bucket/set/x' hangs");
  EXPECT_EQ(error.context().path, kSet);
  // As it is known further out, the place is still the same.
  EXPECT_STREQ(error.within({.path = address.native(), .record = 3}).what(),
               "s3://bucket/set: record 3: 's3://bucket/set/x' hangs");
}

TEST(StorageOptions, StandForVariables) {
  const Surroundings s3 = surroundings_at(marked({{"key", "id"},
                                                  {"SECRET", "word\n"},
                                                  {"region_name", "eu-west-1"},
                                                  {"endpoint_url", "http://h:1"},
                                                  {"addressing_style", "Virtual"},
                                                  {"requester_pays", "True"},
                                                  {"retry_seconds", "7"}}));
  const Variable region("AWS_REGION", "us-west-2");
  const Variable file("AWS_CONFIG_FILE", "/file");
  const Variable acl("acl", "public-read");
  EXPECT_EQ(s3.variable("AWS_ACCESS_KEY_ID"), "id");
  EXPECT_EQ(s3.variable("AWS_SECRET_ACCESS_KEY"), "word");
  EXPECT_EQ(s3.variable("AWS_REGION"), "eu-west-1");
  EXPECT_EQ(s3.variable("AWS_ENDPOINT_URL_S3"), "http://h:1");
  EXPECT_EQ(s3.variable("addressing_style"), "virtual");
  EXPECT_EQ(s3.variable("requester_pays"), "yes");
  EXPECT_EQ(s3.variable("FFKIT_RETRY_SECONDS"), "7");
  EXPECT_EQ(s3.variable("AWS_CONFIG_FILE"), "/file");
  EXPECT_EQ(s3.variable("acl"), "");  // no variable
  const Surroundings gs = surroundings_at(
      marked({{"token", "/key.json"}, {"endpoint_url", "http://g"}}, "gs://bucket/set"));
  EXPECT_EQ(gs.variable("GOOGLE_APPLICATION_CREDENTIALS"), "/key.json");
  EXPECT_EQ(gs.variable("STORAGE_EMULATOR_HOST"), "http://g");
  const Surroundings hf = surroundings_at(marked({{"token", "hf_x"}}, "hf://datasets/owner/name"));
  EXPECT_EQ(hf.variable("HF_TOKEN"), "hf_x");
  const Variable account("AZURE_STORAGE_ACCOUNT", "another");
  const fs::path blobs =
      marked({{"sas_token", "sv=1&sig=x"}}, "abfss://c@a.dfs.core.windows.net/set");
  EXPECT_EQ(parse_address(blobs.native()).place, "a/c");
  const Surroundings az = surroundings_at(blobs);
  EXPECT_EQ(az.variable("AZURE_STORAGE_SAS_TOKEN"), "sv=1&sig=x");
  EXPECT_EQ(az.variable("AZURE_STORAGE_ACCOUNT"), "");
  const Variable r2_account("R2_ACCOUNT_ID", "another");
  const Surroundings r2 =
      surroundings_at(marked({{"endpoint_url", "http://r"}}, "r2://bucket/set"));
  EXPECT_EQ(r2.variable("R2_ENDPOINT_URL"), "http://r");
  EXPECT_EQ(r2_settings("bucket", r2, nullptr).endpoint, "http://r");
}

TEST(StorageOptions, WhoOneIsIsSaidAsAWhole) {
  const Variable id("AWS_ACCESS_KEY_ID", "other");
  const Variable secret("AWS_SECRET_ACCESS_KEY", "other");
  const Variable token("AWS_SESSION_TOKEN", "other");
  const Variable file("AWS_WEB_IDENTITY_TOKEN_FILE", "/other");
  const Variable anonymous("AWS_NO_SIGN_REQUEST", "YES");
  const char* const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                               "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_NO_SIGN_REQUEST"};
  const auto seen = [&](std::map<std::string, std::string> options) {
    const Surroundings surroundings = surroundings_at(marked(std::move(options)));
    std::vector<std::string> values;
    for (const char* name : names) values.push_back(surroundings.variable(name));
    return values;
  };
  using Values = std::vector<std::string>;
  EXPECT_EQ(seen({{"key", "id"}, {"secret", "word"}}), Values({"id", "word", "", "", ""}));
  EXPECT_EQ(seen({{"profile", "dev"}}), Values({"", "", "", "", ""}));
  EXPECT_EQ(seen({{"region", "eu-west-1"}}), Values({"other", "other", "other", "/other", "YES"}));
  EXPECT_EQ(seen({{"anon", "no"}}), Values({"other", "other", "other", "/other", "no"}));
  EXPECT_EQ(surroundings_at(marked({{"key", "id"}, {"secret", "word"}})).giver,
            "the storage options");
}

TEST(StorageOptions, AreHeadersOfWhatIsWritten) {
  const auto settings = [](std::map<std::string, std::string> options) {
    return s3_settings("bucket", surroundings_at(marked(std::move(options))), nullptr);
  };
  const S3Settings strict = settings({{"anon", "yes"},
                                      {"server_side_encryption", "aws:kms"},
                                      {"sse_kms_key_id", "key/1"},
                                      {"storage_class", "STANDARD_IA"},
                                      {"acl", "bucket-owner-full-control"},
                                      {"tagging", "a=1&b=2"}});
  EXPECT_EQ(
      strict.object_headers,
      std::vector<std::string>(
          {"Content-Type: application/octet-stream", "x-amz-server-side-encryption: aws:kms",
           "x-amz-server-side-encryption-aws-kms-key-id: key/1", "x-amz-storage-class: STANDARD_IA",
           "x-amz-acl: bucket-owner-full-control", "x-amz-tagging: a=1&b=2"}));
  EXPECT_EQ(strict.crc32c_header, "x-amz-checksum-crc32c: ");
  const S3Settings plain = settings({{"anon", "yes"},
                                     {"checksum", "none"},
                                     {"endpoint_url", "http://h:1"},
                                     {"addressing_style", "virtual"},
                                     {"ca_bundle", "/ca.pem"}});
  EXPECT_EQ(plain.crc32c_header, "");
  EXPECT_FALSE(plain.has_part_checksums || plain.is_path_style);
  EXPECT_EQ(plain.ca_file, "/ca.pem");
}

TEST(StorageOptions, WhatIsNoneIsRefusedByName) {
  const std::map<std::string, std::string> bad[] = {
      {{"secrt", "x"}},      {{"key", "id"}},
      {{"token", "x"}},      {{"key", "id"}, {"access_key_id", "id"}, {"secret", "x"}},
      {{"profile", " "}},    {{"profile", "a\nb"}},
      {{"anon", "perhaps"}}, {{"addressing_style", "paths"}},
      {{"checksum", "md5"}}, {{"sse_kms_key_id", "key"}},
      {{"hf_token", "x"}},   {{"", "path"}}};
  for (const auto& options : bad) {
    EXPECT_ERROR(marked(options), invalid_argument, .subject = argument, .name = "storage_options");
  }
  for (const char* place : {"/data/set", "file:///data/set", ""}) {
    EXPECT_ERROR(marked({{"profile", "one"}}, place), invalid_argument, .subject = argument,
                 .name = "storage_options");
  }
  EXPECT_ERROR(surroundings_of_mark(60'000), invalid_argument, .subject = argument,
               .name = "storage_options");
}

TEST(StorageOptions, OfTwoPlacesTheFirstOnesAreTheDestinations) {
  const StorageOptions one = options_of({{"profile", "one"}});
  const StorageOptions two = options_of({{"profile", "two"}});
  using Both = std::pair<StorageOptions, StorageOptions>;
  EXPECT_EQ(share_storage_options(kSet, kSet, one, two), Both(two, one));
  EXPECT_EQ(share_storage_options(kSet, kSet, one, {}), Both({}, one));
  EXPECT_EQ(share_storage_options("/set", kSet, one, {}), Both({}, one));
  EXPECT_EQ(share_storage_options(kSet, "/set", one, {}), Both(one, {}));
  EXPECT_EQ(share_storage_options(kSet, "/set", {}, two), Both(two, {}));
  EXPECT_EQ(share_storage_options("", kSet, one, {}), Both({}, one));
  EXPECT_ERROR(share_storage_options("/set", "/set", one, {}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(share_storage_options("/set", kSet, one, two), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(share_storage_options(kSet, "/set", one, two), invalid_argument,
               .subject = argument);
}

}  // namespace
}  // namespace ffkit
