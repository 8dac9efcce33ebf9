#include "http/curl_library.h"

#include "faults/fault_server.h"
#include "http/http_client.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::expect;
using testing::FaultServer;

TEST(CurlLibrary, IsOpenedWhereTheSystemHasIt) {
  const CurlLibrary curl = open_curl_library("");
  EXPECT_TRUE(curl.path.starts_with("libcurl")) << curl.path;
  EXPECT_GE(curl.version_info(CURLVERSION_NOW)->version_num, 0x074400U);
  EXPECT_EQ(&curl_library(), &curl_library());
}

TEST(CurlLibrary, SaysWhatToInstallWhereThereIsNone) {
  EXPECT_ERROR(open_curl_library("/nonexistent/libcurl.so.4"), unsupported,
               .path = "/nonexistent/libcurl.so.4");
  // A library, but another one.
  EXPECT_ERROR(open_curl_library("libm.so.6"), unsupported, .path = "libm.so.6");
}

// A process that has not opened libcurl yet.
TEST(CurlLibraryDeathTest, TheEnvironmentNamesTheOnlyOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("FFKIT_LIBCURL", "/nonexistent", 1);
        for (int i = 0; i < 2; ++i) {
          try {
            process_http_client();
            ::_exit(1);
          } catch (const Error& error) {
            fprintf(stderr, "%s\n", error.what());
            if (error.code() != ErrorCode::unsupported) ::_exit(2);
          }
        }
        // Whoever installs it meanwhile need not start again.
        ::unsetenv("FFKIT_LIBCURL");
        process_http_client();
        ::exit(0);
      },
      ::testing::ExitedWithCode(0), "install libcurl .* FFKIT_LIBCURL");
}

// Whoever still waits is told, so that objects that are destroyed at the exit do not hang.
TEST(CurlLibraryDeathTest, RequestsEndWhenTheProgramExits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // Is destroyed after the client has been stopped, which was there later.
        static FaultServer server(
            [](const FaultServer::Asked&, FaultServer::Connection& c) { c.hang(); });
        process_http_client()->send({.url = server.url("/")}, [](const HttpResponse& response) {
          fprintf(stderr, "%d %s\n", response.status, response.failure.c_str());
          // Nothing can be sent any more.
          process_http_client()->send({.url = "http://x"}, [](const HttpResponse& second) {
            fprintf(stderr, "%d %d\n", second.status, second.is_cut ? 1 : 0);
          });
        });
        while (server.num_requests() == 0) ::usleep(1000);
        ::alarm(300);
        ::exit(0);
      },
      ::testing::ExitedWithCode(0), "0 the requests were cancelled.*\n0 0\n");
}

TEST(CaBundle, TheEnvironmentComesFirstThenLibcurlThenTheSystem) {
  const testing::TempDir dir;
  const std::string own = dir.path() / "own.pem";
  fclose(fopen(own.c_str(), "w"));
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}) ::unsetenv(name);
  EXPECT_EQ(ca_bundle(own.c_str(), nullptr), "");
  EXPECT_EQ(ca_bundle("/nonexistent", dir.path().c_str()), "");
  const std::string of_system = ca_bundle("/nonexistent", nullptr);
  EXPECT_TRUE(of_system.empty() || of_system.starts_with("/etc/")) << of_system;
  ::setenv("CURL_CA_BUNDLE", "/c", 1);
  EXPECT_EQ(ca_bundle(own.c_str(), nullptr), "/c");
  ::setenv("SSL_CERT_FILE", "/b", 1);
  EXPECT_EQ(ca_bundle(own.c_str(), nullptr), "/b");
  ::setenv("AWS_CA_BUNDLE", "/a", 1);
  EXPECT_EQ(ca_bundle(nullptr, nullptr), "/a");
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}) ::unsetenv(name);
}

TEST(ProcessHttpClient, IsOneAndAChildOfForkHasItsOwn) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  FaultServer server([](const FaultServer::Asked&, FaultServer::Connection& connection) {
    connection.answer(200, "x");
  });
  const std::shared_ptr<HttpClient> client = process_http_client();
  EXPECT_EQ(client, process_http_client());
  ASSERT_EQ(client->fetch({.url = server.url("/")}).status, 200);
  std::shared_ptr<HttpClient> own = make_curl_client(curl_library());

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(300);
    const HttpResponse refused = client->fetch({.url = server.url("/")});
    expect(refused.failure.find("before fork()") != std::string::npos, refused.failure);
    expect(!refused.is_cut, "a client of the parent is not to be asked again");
    client->cancel(1);
    own.reset();  // the parent's thread is neither joined nor missed
    const std::shared_ptr<HttpClient> another = process_http_client();
    expect(another != client, "the child has the parent's client");
    expect(another == process_http_client(), "the child has more than one client");
    expect(another->fetch({.url = server.url("/")}).status == 200, "the child's client works");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(client->fetch({.url = server.url("/")}).status, 200);
  EXPECT_EQ(server.num_connections(), 2);
}

}  // namespace
}  // namespace ffkit
