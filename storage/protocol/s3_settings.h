// Where a bucket is and who asks for it, by the environment and the profiles of ~/.aws.
//
//   s3   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or endpoint_url of the profile: another store than
//        AWS's, in path style unless s3.addressing_style is "virtual". AWS_REGION. AWS_CA_BUNDLE.
//        AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT.
//        AWS_REQUEST_PAYER=requester. AWS_NO_SIGN_REQUEST=YES: public buckets, without credentials.
//        Options that no variable has (storage_options.h): addressing_style, ca_bundle, checksum,
//        requester_pays, and those of objects that are written.
//   r2   R2_ENDPOINT_URL, or R2_ACCOUNT_ID or CLOUDFLARE_ACCOUNT_ID, or the endpoint of s3;
//        the credentials of s3.
//   gs   STORAGE_EMULATOR_HOST: another host. GS_USER_PROJECT: who pays. GS_NO_SIGN_REQUEST=YES.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "credentials/aws_credentials.h"
#include "credentials/bearer_tokens.h"
#include "credentials/renewed.h"
#include "credentials/surroundings.h"
#include "http/http_client.h"

namespace ffkit {

// What makes a request somebody's; this one nobody's, for public data. Thread-safe.
class Authorizer {
 public:
  // What a request was authorized by; null for nothing.
  using Used = std::shared_ptr<const void>;

  virtual ~Authorizer() = default;
  // Adds the headers that say who asks. Finds credentials, or renews those that end soon, and so
  // may wait; throws where there are none. `region` is for signatures.
  virtual Used authorize(HttpRequest& /*request*/, const std::string& /*region*/) { return {}; }
  // The store has refused `used` as expired: the next request is authorized by others. False: there
  // are no others.
  virtual bool refuse(const Used& /*used*/) { return false; }
  // "the environment", for messages; empty for nobody.
  virtual std::string whose() const { return {}; }
};

// The chain of aws_credentials.h, which all stores of a process share.
using AwsChain = std::shared_ptr<Renewed<AwsCredentials>>;
using GoogleChain = std::shared_ptr<Renewed<BearerToken>>;

struct S3Settings {
  std::string scheme = "s3";  // of addresses: "s3", "r2", "gs" or "az"
  std::string account = {};   // az alone: whose the bucket is, which is a container there
  int mark = 0;               // of addresses
  std::string bucket;
  std::string endpoint;        // "http://127.0.0.1:8333"; empty: AWS's own, by region
  bool is_path_style = false;  // the bucket stands in the path, not in the host's name
  std::string region;          // empty: found out by the bucket's answers
  bool is_fips = false;        // AWS' endpoints by FIPS 140, and those of IPv6, too
  bool is_dual_stack = false;
  std::string ca_file;               // of certificates; empty: as for every store
  std::vector<std::string> headers;  // of every request
  // Of requests that begin an object, with encryption, storage class, who may read it, tags.
  std::vector<std::string> object_headers = {"Content-Type: application/octet-stream"};
  // The header that has a body's CRC-32C begins so; empty for a store that knows none.
  std::string crc32c_header = {};
  // The store adds up an upload's parts only if its begin and its end name their checksums (S3).
  bool has_part_checksums = false;
  std::string create_only;  // the header by which a write fails where there is an object
  std::string variables;    // the names of the environment begin so: "AWS", "GS", "AZURE"
  std::shared_ptr<Authorizer> authorizer;
};

// `chain` is shared by all buckets. All throw Error(invalid_argument) for variables that make no
// sense, and of r2 for an endpoint that is not said.
S3Settings s3_settings(const std::string& bucket, const Surroundings& surroundings,
                       const AwsChain& chain);
S3Settings r2_settings(const std::string& bucket, const Surroundings& surroundings,
                       const AwsChain& chain);
S3Settings gs_settings(const std::string& bucket, const Surroundings& surroundings,
                       const GoogleChain& chain);

// The URL of an object, or of the bucket where `key` is empty. `query` is encoded.
std::string url_of(const S3Settings& settings, const std::string& region, const std::string& key,
                   const std::string& query);

}  // namespace ffkit
