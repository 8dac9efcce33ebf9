// libcurl, opened by dlopen when the first address is read: its headers are all that the build
// needs, and who reads local files alone need not have it.
#pragma once

#ifndef CURL_DISABLE_DEPRECATION
#define CURL_DISABLE_DEPRECATION  // what is deprecated is what older versions have, too
#endif
#include <curl/curl.h>

#include <string>

namespace ffkit {

struct CurlLibrary {
  std::string path;  // as it was opened

  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_version_info) version_info = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_share_init) share_init = nullptr;
  decltype(&::curl_share_cleanup) share_cleanup = nullptr;
  decltype(&::curl_share_setopt) share_setopt = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;
};

// Opens the library at `path`, or libcurl where the system has it when that is empty, and readies
// it. It stays open. Throws Error(unsupported) with what to install.
CurlLibrary open_curl_library(const std::string& path);

// The one of this process: that which the environment variable FFKIT_LIBCURL names, and no other;
// or the system's; or, where there is none, that which FFKIT_LIBCURL_ELSE names. Throws as above,
// each time anew.
const CurlLibrary& curl_library();

// The file of certificates that are trusted: the first that is set of the environment variables
// AWS_CA_BUNDLE, SSL_CERT_FILE and CURL_CA_BUNDLE. Without them, and where neither libcurl's own
// file nor its own folder is there (a library that was built elsewhere), the first that is there of
// where distributions have it. Empty: libcurl's own. Either of those may be null.
std::string ca_bundle(const char* own_file, const char* own_folder);

}  // namespace ffkit
