#include "addresses/place.h"

#include "addresses/signatures.h"
#include "addresses/url.h"
#include "stores/object_store.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

TEST(ParseAddress, TakesBucketAndKey) {
  const Address a = parse_address("s3://my-bucket/set a/train/shard-00000.ffr");
  EXPECT_EQ(a.scheme, Scheme::s3);
  EXPECT_EQ(a.place, "my-bucket");
  EXPECT_EQ(a.path, "set a/train/shard-00000.ffr");
  EXPECT_EQ(parse_address("gs://b").path, "");
  EXPECT_EQ(parse_address("gs://b/").path, "");
  EXPECT_EQ(parse_address("s3://b/a//c%20?d#e").path, "a//c%20?d#e");
}

TEST(ParseAddress, KeepsTheQueryOfAUrl) {
  const Address a = parse_address("https://Host.example:8443/a%20b/c d?X-Sig=1&v");
  EXPECT_EQ(a.scheme, Scheme::https);
  EXPECT_EQ(a.place, "host.example:8443");
  EXPECT_EQ(a.path, "a%20b/c%20d");
  EXPECT_EQ(a.query, "X-Sig=1&v");
  EXPECT_EQ(parse_address("http://[::1]:81/x").place, "[::1]:81");
}

TEST(ParseAddress, TakesTheRevisionOfADataSet) {
  const Address a = parse_address("hf://datasets/owner/name/train/x.ffr");
  EXPECT_EQ(a.place, "owner/name");
  EXPECT_EQ(a.revision, "main");
  EXPECT_EQ(a.path, "train/x.ffr");
  EXPECT_EQ(parse_address("hf://datasets/o/n@v1/x").revision, "v1");
  EXPECT_EQ(parse_address("hf://datasets/o/n@refs/pr/1/x").revision, "refs/pr/1");
  EXPECT_EQ(parse_address("hf://datasets/o/n@refs/pr/1/x").path, "x");
  EXPECT_EQ(parse_address("hf://datasets/o/n@refs%2Fpr%2F1/x").revision, "refs/pr/1");
  EXPECT_EQ(parse_address("hf://datasets/o/n").path, "");
}

TEST(ParseAddress, TakesFiles) {
  EXPECT_EQ(parse_address("file:///data/a b").path, "/data/a b");
  EXPECT_EQ(parse_address("file://localhost/data").path, "/data");
}

TEST(ParseAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"/data/x", "s3:/b/x", "s3:///x", "s3://a b/x", "s3://arn:aws:s3:::x/y", "s3://b/a/../c",
        "gs://b/./c", "https://", "https://:80/x", "https://h:99999/x", "https://me:secret@h/x?s=1",
        "hf://models/o/n/x", "hf://datasets/o", "hf://datasets/o/n@/x", "file://host/x"}) {
    EXPECT_ERROR(parse_address(text), invalid_argument, .subject = argument);
  }
}

TEST(ParseAddress, IsUndoneByItsText) {
  for (const char* text :
       {"s3://b/a/c", "gs://b/", "https://h:1/a?b=c", "http://h/", "hf://datasets/o/n/x",
        "hf://datasets/o/n@v1/x", "hf://datasets/o/n@refs%2Fpr%2F1/x", "file:///a"}) {
    EXPECT_EQ(text_of(parse_address(text)), text);
  }
}

TEST(Place, HasOneNameOfAScheme) {
  EXPECT_EQ(Place("S3A://b/x").address(), "s3://b/x");
  EXPECT_EQ(Place("gcs://b/x").address(), "gs://b/x");
  EXPECT_EQ(Place("abfss://box@account.dfs.core.windows.net/a b").address(),
            "az://account/box/a b");
  EXPECT_EQ(Place("az://box@account.blob.core.windows.net").address(), "az://account/box");
  EXPECT_EQ(parse_address("abfs://box@a.dfs.core.windows.net/x").place, "a/box");
  EXPECT_EQ(parse_address("az://account/box/a/b").path, "a/b");
  for (const char* text : {"az://account", "az://account/", "abfs://box@host.example/x",
                           "az://a/b/../c", "az://a/b/c?sv=1&sig=secret", "r2:///x"}) {
    EXPECT_ERROR(parse_address(text), invalid_argument, .subject = argument);
  }
}

std::string signature_at(const std::string& url) {
  return signature_of(parse_url(url, "x"));
}

TEST(Signature, IsOfAFolderAndAllBelow) {
  const std::string sas = "sv=2020-12-06&sr=c&sig=a%2Fb%3D";
  const Place folder("HTTPS://Host.example/set one/train/?" + sas);
  EXPECT_EQ(folder.address(), "https://Host.example/set one/train/");
  EXPECT_EQ(signature_at("https://host.example/set%20one/train/shard-00000.ffr"), sas);
  EXPECT_EQ(signature_at("https://host.example/set%20one/train"), sas);
  for (const char* other :
       {"https://host.example/set%20one", "https://host.example/set%20one/train2/x",
        "http://host.example/set%20one/train/x", "https://host.example:8443/set%20one/train/x"}) {
    EXPECT_EQ(signature_at(other), "") << other;
  }
  // A new one, and one of a folder below.
  EXPECT_EQ(Place("https://host.example/set%20one/train?sig=new").shown(),
            "https://host.example/set%20one/train");
  Place("https://host.example/set%20one/train/below?Policy=p&Signature=s&Key-Pair-Id=k");
  EXPECT_EQ(signature_at("https://host.example/set%20one/train/x"), "sig=new");
  EXPECT_EQ(signature_at("https://host.example/set%20one/train/below/x"),
            "Policy=p&Signature=s&Key-Pair-Id=k");
  EXPECT_EQ(Place("https://bare.example?token=t").address(), "https://bare.example");
  EXPECT_EQ(signature_at("https://bare.example/a/b"), "token=t");
}

TEST(Signature, IsNoQueryThatSaysWhichFileIsMeant) {
  for (const char* text :
       {"https://h/x?id=7", "https://h/x?id=7&sig=s", "https://h/x?X-Amz-Signature=1&versionId=2",
        "https://h/x?", "https://h/x-{0..3}.tar?sig=s", "https://h/x?expires=1",
        "https://:1/x?sig=1", "s3://b/x?sig=1"}) {
    EXPECT_EQ(Place(text).address(), text);
  }
  // A token may be the name of a file: of two, the second one stays.
  EXPECT_EQ(Place("https://h/get?token=1").address(), "https://h/get");
  EXPECT_EQ(Place("https://h/get?token=2").address(), "https://h/get?token=2");
  EXPECT_EQ(Place("https://h/get?token=2&expires=9").address(), "https://h/get");
}

TEST(ShownAddress, HasNoSecrets) {
  EXPECT_EQ(shown_address("https://h/x?X-Amz-Signature=1"), "https://h/x?...");
  EXPECT_EQ(shown_address("https://me:secret@h/x"), "https://...@h/x");
  EXPECT_EQ(shown_address("s3://b/x?y"), "s3://b/x?y");
}

TEST(Percent, KeepsWhatIsUnreserved) {
  EXPECT_EQ(percent_encoded("AZaz09-._~/ +=\xc3\xa4"), "AZaz09-._~%2F%20%2B%3D%C3%A4");
  EXPECT_EQ(percent_encoded_path("a/b c"), "a/b%20c");
  EXPECT_EQ(percent_decoded("a%2fb%zz%"), "a/b%zz%");
  EXPECT_EQ(as_in_url("/a%20b c\"?x=[1]"), "/a%20b%20c%22?x=[1]");
}

TEST(Url, LeavesOutAPortThatIsTheSchemesOwn) {
  EXPECT_EQ(parse_url("http://host:80/a", "x").text(), "http://host/a");
  EXPECT_EQ(parse_url("https://host:443", "x").host, "host");
  EXPECT_EQ(parse_url("http://[::1]:80/", "x").host, "[::1]");
  EXPECT_EQ(parse_url("http://host:443/a", "x").host, "host:443");
  EXPECT_EQ(parse_url("https://host:80/a", "x").host, "host:80");
  EXPECT_EQ(parse_url("http://host:8080/a", "x").host, "host:8080");
}

TEST(Url, FollowsLocations) {
  const Url base = parse_url("https://h/a/b?c", "x");
  EXPECT_EQ(redirected(base, "/d?e#f").text(), "https://h/d?e");
  EXPECT_EQ(redirected(base, "http://i:1").text(), "http://i:1/");
  EXPECT_EQ(redirected(base, "//i/d").text(), "https://i/d");
  EXPECT_ERROR(redirected(base, "ftp://i/d"), invalid_argument);
}

TEST(Address, IsAPathWithAScheme) {
  EXPECT_TRUE(Place("s3://bucket/set").is_in_store());
  EXPECT_TRUE(Place(std::filesystem::path("hf://datasets/o/n") / "train").is_in_store());
  EXPECT_FALSE(Place("s3:/bucket").is_in_store());
  EXPECT_FALSE(Place("s3://").is_in_store());
  EXPECT_FALSE(Place("/data/s3://x").is_in_store());
}

TEST(Place, KnowsSchemesWithoutCase) {
  EXPECT_EQ(Place("S3://Bucket/Key").address(), "s3://Bucket/Key");
  EXPECT_EQ(Place("HTTPS://Host/Path?Query").address(), "https://Host/Path?Query");
  EXPECT_EQ(Place("S3:/Bucket").path(), "S3:/Bucket");
  EXPECT_TRUE(Place("File:///data").is_in_store());
  EXPECT_TRUE(Place("File:///data").is_on_disk());
  EXPECT_EQ(parse_address("GS://Bucket/Key"), parse_address("gs://Bucket/Key"));
  EXPECT_EQ(parse_address("Https://HOST/a"), parse_address("https://host/a"));
  EXPECT_EQ(shown_address("HTTPS://host/a?key"), "HTTPS://host/a?...");
}

TEST(Place, OfADiskIsShownByItsPath) {
  const Place folder = Place("/data//set/").in_store();
  EXPECT_TRUE(folder.is_in_store());
  EXPECT_EQ(folder.address(), "file:///data/set");
  EXPECT_EQ(folder.child("train").child("").address(), "file:///data/set/train");
  EXPECT_EQ(folder.child("train").shown(), "/data/set/train");
  EXPECT_EQ(folder.path_on_disk(), "/data/set");
  EXPECT_EQ(Place("set/train").shown(), "set/train");
  EXPECT_EQ(Place("s3://b/set/").in_store().shown(), "s3://b/set");
  EXPECT_EQ(Place("https://host/a?v=1").shown(), "https://host/a?...");
  EXPECT_FALSE(Place("s3://b").is_on_disk());
}

}  // namespace
}  // namespace ffkit
