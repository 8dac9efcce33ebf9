#include "http/curl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <ffkit/base/error.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

// Debian's libcurl4 and libcurl3-gnutls; every other distribution has the first.
constexpr const char* kCurlNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
// That with curl_multi_wakeup().
constexpr unsigned kOldestCurl = 0x074400;

Error no_curl(const std::string& path, const std::string& message) {
  return error_at(path, ErrorCode::unsupported, message)
      .with_remedy(
          "install libcurl 7.68 or newer (Debian's package libcurl4, or pycurl for Python), or set "
          "the environment variable FFKIT_LIBCURL to its path");
}

std::string loader_words() {
  const char* words = ::dlerror();
  return words == nullptr ? "unknown error" : words;
}

CurlLibrary functions_of(void* library, const std::string& path) {
  CurlLibrary curl;
  curl.path = path;
  const auto find = [&]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function != nullptr) return;
    throw no_curl(
        path,
        fmt::format("this library has no function {}, which ffkit needs to read addresses", name));
  };
  find("curl_global_init", curl.global_init);
  find("curl_version_info", curl.version_info);
  find("curl_easy_init", curl.easy_init);
  find("curl_easy_cleanup", curl.easy_cleanup);
  find("curl_easy_setopt", curl.easy_setopt);
  find("curl_easy_getinfo", curl.easy_getinfo);
  find("curl_easy_strerror", curl.easy_strerror);
  find("curl_slist_append", curl.slist_append);
  find("curl_slist_free_all", curl.slist_free_all);
  find("curl_share_init", curl.share_init);
  find("curl_share_cleanup", curl.share_cleanup);
  find("curl_share_setopt", curl.share_setopt);
  find("curl_multi_init", curl.multi_init);
  find("curl_multi_cleanup", curl.multi_cleanup);
  find("curl_multi_setopt", curl.multi_setopt);
  find("curl_multi_add_handle", curl.multi_add_handle);
  find("curl_multi_remove_handle", curl.multi_remove_handle);
  find("curl_multi_perform", curl.multi_perform);
  find("curl_multi_info_read", curl.multi_info_read);
  find("curl_multi_poll", curl.multi_poll);
  find("curl_multi_wakeup", curl.multi_wakeup);
  return curl;
}

bool is_there(const char* path) {
  std::error_code ignored;
  return path != nullptr && *path != '\0' && std::filesystem::exists(path, ignored);
}

}  // namespace

CurlLibrary open_curl_library(const std::string& path) {
  std::string opened = path;
  void* library = nullptr;
  std::string words;
  if (!path.empty()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw no_curl(path, "FFKIT_LIBCURL names this library, but the library cannot be opened (" +
                              loader_words() + ")");
    }
  } else {
    std::vector<std::string> names(std::begin(kCurlNames), std::end(kCurlNames));
    if (const char* other = std::getenv("FFKIT_LIBCURL_ELSE")) names.emplace_back(other);
    for (const std::string& name : names) {
      library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      opened = name;
      if (library != nullptr) break;
      words += (words.empty() ? "" : "; ") + loader_words();
    }
    if (library == nullptr) {
      throw no_curl("", "libcurl, which reads addresses, was not found (" + words + ")");
    }
  }
  CurlLibrary curl = functions_of(library, opened);
  const curl_version_info_data* version = curl.version_info(CURLVERSION_NOW);
  if (version->version_num < kOldestCurl) {
    throw no_curl(opened, fmt::format("libcurl has version {}, which is too old to read addresses",
                                      version->version));
  }
  if (const CURLcode code = curl.global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK) {
    throw no_curl(opened, fmt::format("libcurl cannot be started ({})", curl.easy_strerror(code)));
  }
  return curl;
}

const CurlLibrary& curl_library() {
  static const CurlLibrary kLibrary = [] {
    const char* named = std::getenv("FFKIT_LIBCURL");
    return open_curl_library(named == nullptr ? "" : named);
  }();
  return kLibrary;
}

std::string ca_bundle(const char* own_file, const char* own_folder) {
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    const char* file = std::getenv(name);
    if (file != nullptr && *file != '\0') return file;
  }
  if (is_there(own_file) || is_there(own_folder)) return "";
  for (const char* file :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem"}) {
    if (is_there(file)) return file;
  }
  return "";
}

}  // namespace ffkit
