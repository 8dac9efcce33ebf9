// Where a container of Azure's Blob Storage is, and who asks for it:
//
//   1. AZURE_STORAGE_CONNECTION_STRING: the endpoint, and a key or a SAS
//   2. AZURE_STORAGE_KEY, then AZURE_STORAGE_SAS_TOKEN, of AZURE_STORAGE_ACCOUNT if that is set
//   3. a token of the identity of an app (IDENTITY_ENDPOINT, IDENTITY_HEADER), or of the machine's,
//      at 169.254.169.254 (AZURE_POD_IDENTITY_AUTHORITY_HOST); AZURE_CLIENT_ID chooses one
//
// What is of another account than the address names is not used. AZURE_NO_SIGN_REQUEST=YES: public
// containers, without credentials. Secrets are in no message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/s3_settings.h"

namespace ffkit {

struct ConnectionString {
  std::string account;   // also by the endpoint
  std::string key;       // in base64; empty without one
  std::string sas;       // empty without one
  std::string endpoint;  // of blobs, without a slash at its end
};
// "AccountName=NAME;AccountKey=KEY;..." or "BlobEndpoint=https://...;SharedAccessSignature=sv=...".
// Throws Error(invalid_argument) for what is none.
ConnectionString parse_connection_string(std::string_view text);

// A token by place 3. Throws Error(invalid_argument) where there is none, which says what was
// looked at: `looked` before.
BearerToken find_azure_token(const Surroundings& surroundings, std::vector<std::string> looked);

// `place` is "ACCOUNT/CONTAINER". Throws Error(invalid_argument) for variables that make no sense.
S3Settings azure_settings(const std::string& place, const Surroundings& surroundings);

}  // namespace ffkit
