// TLS against openssl's s_server, with a certificate that this test makes.
#include "faults/fault_server.h"
#include "http/curl_library.h"
#include "http/http_client.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

class CurlTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string make_certificate =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
        "subjectAltName=IP:127.0.0.1 -keyout " +
        key() + " -out " + certificate() + " > /dev/null 2>&1";
    if (std::system(make_certificate.c_str()) != 0) {
      GTEST_SKIP() << "the program openssl is not here";
    }
    start_server();
  }
  void TearDown() override {
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
  }

  std::string key() const { return dir_ / "key.pem"; }
  std::string certificate() const { return dir_ / "certificate.pem"; }

  // Waits for its line "ACCEPT 127.0.0.1:40123".
  void start_server() {
    int output[2];
    ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
    server_ = ::fork();
    ASSERT_GE(server_, 0);
    if (server_ == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
      ::execlp("openssl", "openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-key",
               key().c_str(), "-cert", certificate().c_str(), nullptr);
      ::_exit(127);
    }
    ::close(output[1]);
    FILE* lines = ::fdopen(output[0], "r");
    char line[256];
    while (std::fgets(line, sizeof line, lines) != nullptr) {
      if (std::sscanf(line, "ACCEPT 127.0.0.1:%d", &port_) == 1) break;
    }
    std::fclose(lines);
    ASSERT_NE(port_, 0);
  }

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }

  const testing::TempDir dir_;
  pid_t server_ = 0;
  int port_ = 0;
};

TEST_F(CurlTlsTest, OnlyTrustedCertificatesAreTaken) {
  const auto distrustful = make_curl_client(curl_library());
  const HttpResponse refused = distrustful->fetch({.url = url()});
  EXPECT_EQ(refused.status, 0);
  EXPECT_FALSE(refused.is_cut) << refused.failure;
  EXPECT_THAT(refused.failure, HasSubstr("certificate"));
  EXPECT_THAT(refused.failure, HasSubstr("127.0.0.1"));

  const auto trusting = make_curl_client(curl_library(), {.ca_file = certificate()});
  for (int i = 0; i < 2; ++i) {
    const HttpResponse answer = trusting->fetch({.url = url()});
    EXPECT_EQ(answer.status, 200) << answer.failure;
    EXPECT_THAT(answer.body, HasSubstr("s_server"));
  }
}

TEST_F(CurlTlsTest, AMissingFileOfCertificatesIsNotRepeated) {
  const auto client = make_curl_client(curl_library(), {.ca_file = "/nonexistent.pem"});
  const HttpResponse refused = client->fetch({.url = url()});
  EXPECT_FALSE(refused.is_cut) << refused.failure;
  EXPECT_THAT(refused.failure, HasSubstr("/nonexistent.pem"));
}

}  // namespace
}  // namespace ffkit
