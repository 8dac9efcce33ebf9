#include "http/ca_bundle.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>

namespace ffkit {
namespace {

bool is_there(const char* path) {
  std::error_code ignored;
  return path != nullptr && *path != '\0' && std::filesystem::exists(path, ignored);
}

}  // namespace

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
