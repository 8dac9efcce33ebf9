#include "protocol/answers.h"

#include <algorithm>

#include "addresses/place.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "xml/xml.h"

namespace ffkit {
namespace {

// As forms have it: plus signs are spaces.
std::string listed_key(std::string_view text, bool is_encoded) {
  if (!is_encoded) return std::string(text);
  std::string key(text);
  std::ranges::replace(key, '+', ' ');
  return percent_decoded(key);
}

int64_t size_in(std::string_view text) {
  if (const auto size = number_of_text<int64_t>(text); size >= 0) return *size;
  throw error_of(ErrorCode::corrupt,
                 "the listing has the size '{}', but a size must be a whole number",
                 printable(text.substr(0, 40)));
}

std::string shortened(std::string_view text) {
  constexpr size_t kMaxWords = 300;
  return printable(text.size() > kMaxWords ? std::string(text.substr(0, kMaxWords)) + "..."
                                           : std::string(text));
}

// `root` is not what was asked for: `wanted`.
[[noreturn]] void refuse_root(const XmlElement& root, const char* wanted) {
  throw error_of(ErrorCode::corrupt, "the server must answer with {}, but it answers with <{}>",
                 wanted, shortened(root.name));
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

std::string keys_of(const AskedOf& asked) {
  if (asked.variables == "AZURE") return "AZURE_STORAGE_KEY or the SAS, and this machine's clock";
  return fmt::format("{0}_ACCESS_KEY_ID and {0}_SECRET_ACCESS_KEY", asked.variables);
}

}  // namespace

Refusal refusal_of(const HttpResponse& response) {
  Refusal refusal;
  refusal.region = response.header("x-amz-bucket-region");
  refusal.code = response.header("x-ms-error-code");
  if (response.body.empty()) return refusal;
  try {
    const XmlElement root = parse_xml(response.body);
    if (root.name != "Error") return refusal;
    refusal.code = root.text_of("Code");
    refusal.message = root.text_of("Message");
    if (refusal.region.empty()) refusal.region = root.text_of("Region");
  } catch (const Error&) {
    // A page of something between here and the store: its status has to do.
  }
  return refusal;
}

bool is_without_bucket(const Refusal& refusal) {
  return is_one_of(refusal.code, {"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"});
}

bool has_expired(const HttpResponse& response, const Refusal& refusal) {
  return response.status == 401 ||
         is_one_of(refusal.code, {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired",
                                  "InvalidToken", "RequestExpired"});
}

ListPage parse_list_page(std::string_view xml) {
  const XmlElement root = parse_xml(xml);
  if (root.name != "ListBucketResult") refuse_root(root, "a listing");
  const bool is_encoded = root.text_of("EncodingType") == "url";
  ListPage page;
  for (const XmlElement& child : root.children) {
    if (child.name == "Contents") {
      page.keys.push_back({listed_key(child.text_of("Key"), is_encoded),
                           size_in(child.text_of("Size")), std::string(child.text_of("ETag"))});
    } else if (child.name == "CommonPrefixes") {
      page.prefixes.push_back(listed_key(child.text_of("Prefix"), is_encoded));
    }
  }
  if (root.text_of("IsTruncated") == "true") {
    page.next = root.text_of("NextContinuationToken");
    if (page.next.empty()) {
      throw Error(ErrorCode::corrupt,
                  "the listing is not complete, but has no token for its next page");
    }
  }
  return page;
}

ListPage parse_blob_page(std::string_view xml) {
  const XmlElement root = parse_xml(xml);
  const XmlElement* blobs = root.find("Blobs");
  if (root.name != "EnumerationResults" || blobs == nullptr) refuse_root(root, "a listing");
  ListPage page;
  for (const XmlElement& child : blobs->children) {
    const std::string name(child.text_of("Name"));
    if (child.name == "BlobPrefix") page.prefixes.push_back(name);
    if (child.name != "Blob") continue;
    const XmlElement* found = child.find("Properties");
    const XmlElement& properties = found == nullptr ? child : *found;
    // Accounts with folders have them as blobs, too.
    if (properties.text_of("ResourceType") == "directory") continue;
    // Without the quotes that a header has.
    std::string version(properties.text_of("Etag"));
    if (!version.empty() && !version.ends_with('"')) version = fmt::format("\"{}\"", version);
    const std::string_view size = properties.text_of("Content-Length");
    page.keys.push_back(
        {name, version.empty() && size.empty() ? 0 : size_in(size), std::move(version)});
  }
  page.next = root.text_of("NextMarker");
  return page;
}

UploadPage parse_upload_page(std::string_view xml) {
  const XmlElement root = parse_xml(xml);
  if (root.name != "ListMultipartUploadsResult") refuse_root(root, "a list of uploads");
  const bool is_encoded = root.text_of("EncodingType") == "url";
  UploadPage page;
  for (const XmlElement& child : root.children) {
    if (child.name != "Upload") continue;
    ListedUpload upload{.key = listed_key(child.text_of("Key"), is_encoded),
                        .id = std::string(child.text_of("UploadId")),
                        .begun = std::string(child.text_of("Initiated"))};
    if (upload.key.empty() || upload.id.empty()) {
      throw Error(ErrorCode::corrupt, "the list of uploads has an upload without a key or an id");
    }
    page.uploads.push_back(std::move(upload));
  }
  if (root.text_of("IsTruncated") == "true") {
    page.next_key = listed_key(root.text_of("NextKeyMarker"), is_encoded);
    page.next_id = root.text_of("NextUploadIdMarker");
    if (page.next_key.empty()) {
      throw Error(ErrorCode::corrupt,
                  "the list of uploads is not complete, but has no key for its next page");
    }
  }
  return page;
}

std::string parse_upload_id(std::string_view xml) {
  const XmlElement root = parse_xml(xml);
  const std::string_view id = root.text_of("UploadId");
  // The root is called InitiateMultipartUploadResult by most, and otherwise by rclone.
  if (id.empty()) {
    throw error_of(ErrorCode::corrupt,
                   "the answer of the store is <{}>, which does not start an upload",
                   shortened(root.name));
  }
  return std::string(id);
}

Failure failure_of(const HttpResponse& response, const AskedOf& asked) {
  const Refusal refusal = refusal_of(response);
  std::string reason = refusal.code.empty() ? fmt::format("status {}", response.status)
                                            : fmt::format("{}{}{}", refusal.code,
                                                          refusal.message.empty() ? "" : ": ",
                                                          shortened(refusal.message));
  const int status = response.status;
  const std::string& code = refusal.code;
  if (status == 0) {
    return {ErrorCode::io, fmt::format("{} gave no answer ({})", asked.host, response.failure),
            "check the network, and the endpoint if an endpoint is set"};
  }
  if (is_without_bucket(refusal)) {
    return {
        ErrorCode::not_found,
        fmt::format("there is no {} '{}' at {}",
                    asked.variables == "AZURE" ? "container" : "bucket", asked.bucket, asked.host),
        "check the name, and the endpoint if an endpoint is set"};
  }
  if (status == 404)
    return {ErrorCode::not_found, "the object does not exist", "check the name of the object"};
  if (is_one_of(code, {"InvalidObjectState", "BlobArchived", "BlobBeingRehydrated"})) {
    return {ErrorCode::invalid_argument, fmt::format("the object is in an archive ({})", reason),
            "restore the object, or move the object to a storage class that can be read at once"};
  }
  if (code == "SecondLevelDomainForbidden") {
    return {ErrorCode::invalid_argument,
            fmt::format("{} needs the bucket's name in the host name ({})", asked.host, reason),
            "set addressing_style = virtual in the section s3 of the profile"};
  }
  if (code == "RequestTimeTooSkewed") {
    return {ErrorCode::invalid_argument, "this machine's clock is wrong (" + reason + ")",
            "set the clock"};
  }
  const bool is_signed = !asked.whose.empty();
  if (is_signed &&
      is_one_of(code, {"SignatureDoesNotMatch", "InvalidAccessKeyId", "AuthenticationFailed"})) {
    return {ErrorCode::invalid_argument,
            fmt::format("the keys of {} are wrong ({})", asked.whose, reason),
            "check " + keys_of(asked)};
  }
  if (has_expired(response, refusal)) {
    return {ErrorCode::invalid_argument,
            fmt::format("the credentials of {} have expired ({})", asked.whose, reason),
            "get new credentials"};
  }
  if (status == 403 && !is_signed) {
    return {ErrorCode::invalid_argument,
            fmt::format("access is denied to requests that are not signed ({})", reason),
            fmt::format("give credentials, and unset {}_NO_SIGN_REQUEST", asked.variables)};
  }
  if (status == 403) {
    return {ErrorCode::invalid_argument,
            fmt::format("access is denied to the credentials of {} ({})", asked.whose, reason),
            fmt::format("check the rights of these credentials, or for a public bucket set "
                        "{}_NO_SIGN_REQUEST=YES",
                        asked.variables)};
  }
  const std::string_view location = response.header("location");
  if (begins_without_case(location, "https://") && refusal.region.empty() && !asked.is_https) {
    return {ErrorCode::invalid_argument,
            fmt::format("{} redirects to {}", asked.host, shown_url(location)),
            "set the endpoint to an https address"};
  }
  if (status == 301 || status == 307 || code == "AuthorizationHeaderMalformed") {
    return {ErrorCode::invalid_argument,
            fmt::format("the bucket is in another region ({})", reason),
            "set AWS_REGION to the region of the bucket"};
  }
  if (status == 412) {
    return {ErrorCode::corrupt, "the object was changed after it was opened",
            "open the object again"};
  }
  if (status == 416) {
    return {ErrorCode::corrupt, "the object ends before the requested bytes",
            "check that the object is complete"};
  }
  if (status == 501 || status == 405) {
    return {ErrorCode::unsupported,
            fmt::format("{} does not support this request ({})", asked.host, reason), ""};
  }
  if (status == 429 || status >= 500) {
    return {ErrorCode::io, fmt::format("{} is overloaded or broken ({})", asked.host, reason),
            "try again later"};
  }
  return {ErrorCode::invalid_argument,
          fmt::format("{} refuses the request ({})", asked.host, reason), ""};
}

Error error_of_failure(const Failure& failure, const std::string& address, std::string_view done) {
  return {failure.code,
          fmt::format("this address cannot be {}, because {}", done, failure.reason),
          {.path = shown_address(address), .remedy = failure.remedy}};
}

}  // namespace ffkit
