// What object stores with S3's API answer, in XML, and what refusals mean. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

#include "http/http_client.h"

namespace ffkit {

// A refusal: <Error><Code>NoSuchKey</Code>...; members are empty where the answer has none.
struct Refusal {
  std::string code;
  std::string message;
  std::string region;  // where the bucket is, by header or body
};
Refusal refusal_of(const HttpResponse& response);

// Whether the credentials have ended, so that others may do.
bool has_expired(const HttpResponse& response, const Refusal& refusal);

// Whether there is no such bucket, or container.
bool is_without_bucket(const Refusal& refusal);

struct ListedKey {
  std::string key;
  int64_t num_bytes = 0;
  std::string version;
};
struct ListPage {
  std::vector<ListedKey> keys;
  std::vector<std::string> prefixes;
  std::string next;  // the token of the next page; empty for the last one
};
// Of ListObjectsV2. Throws Error(corrupt) for what is none.
ListPage parse_list_page(std::string_view xml);
// Of Azure's List Blobs, likewise. A blob that is not finished has neither length nor version.
ListPage parse_blob_page(std::string_view xml);

struct ListedUpload {
  std::string key;
  std::string id;
  std::string begun;
};
struct UploadPage {
  std::vector<ListedUpload> uploads;
  // Where the next page begins; the first is empty for the last one.
  std::string next_key;
  std::string next_id;
};
// Of ListMultipartUploads. Throws Error(corrupt) for what is none.
UploadPage parse_upload_page(std::string_view xml);

// The id of an upload that was begun. Throws Error(corrupt) where there is none.
std::string parse_upload_id(std::string_view xml);

// What an answer means for whoever asked.
struct Failure {
  ErrorCode code = ErrorCode::io;
  std::string reason;  // "AccessDenied: Access Denied"
  std::string remedy;
};
// `whose`: of whom the credentials are, empty for requests that are not signed; `bucket` and `host`
// are what was asked; `variables` begins the names of the environment: "AWS", "GS" or "AZURE".
struct AskedOf {
  std::string whose;
  std::string bucket;
  std::string host;
  std::string variables = "AWS";
  bool is_https = true;  // of the endpoint
};
Failure failure_of(const HttpResponse& response, const AskedOf& asked);

// "ADDRESS: cannot be DONE: REASON; REMEDY".
Error error_of_failure(const Failure& failure, const std::string& address, std::string_view done);

}  // namespace ffkit
