// The tests of this room are the same whatever the caller has in the environment: proxies,
// endpoints, credentials and a cache of their own.
#include "test_prelude.h"

namespace ffkit {
namespace {

bool is_of_stores(std::string_view name) {
  for (const char* begin : {"AWS_", "GOOGLE_", "GS_", "HF_", "FFKIT_CACHE", "FFKIT_LIBCURL",
                            "STORAGE_", "NO_GCE_CHECK", "SSL_CERT", "CURL_CA_BUNDLE"}) {
    if (name.starts_with(begin)) return true;
  }
  return name.ends_with("_proxy") || name.ends_with("_PROXY");
}

std::vector<std::string> names_of_stores() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (is_of_stores(name)) names.emplace_back(name);
  }
  return names;
}

// Before main().
const bool kIsOwn = [] {
  for (const std::string& name : names_of_stores()) ::unsetenv(name.c_str());
  return true;
}();

TEST(OwnEnvironment, SaysNothingOfStores) {
  EXPECT_TRUE(kIsOwn);
  EXPECT_EQ(names_of_stores(), std::vector<std::string>());
}

}  // namespace
}  // namespace ffkit
