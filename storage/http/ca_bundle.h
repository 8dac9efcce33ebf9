// Whose certificates are trusted.
#pragma once

#include <string>

namespace ffkit {

// The file of certificates: the first that is set of the environment variables AWS_CA_BUNDLE,
// SSL_CERT_FILE and CURL_CA_BUNDLE. Without them, and where neither libcurl's own file nor its own
// folder is there (a library that was built elsewhere), the first that is there of where
// distributions have it. Empty: libcurl's own. Either of those may be null.
std::string ca_bundle(const char* own_file, const char* own_folder);

}  // namespace ffkit
