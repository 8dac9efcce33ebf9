// Authorizers: what makes a request somebody's. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "credentials/aws_credentials.h"
#include "credentials/google_credentials.h"
#include "credentials/renewed.h"
#include "http/http_client.h"

namespace ffkit {

class Authorizer {
 public:
  // What a request was authorized by; null for nothing.
  using Used = std::shared_ptr<const void>;

  virtual ~Authorizer() = default;
  // Adds the headers that say who asks. Finds credentials, or renews those that end soon, and so
  // may wait; throws where there are none. `region` is for signatures.
  virtual Used authorize(HttpRequest& request, const std::string& region) = 0;
  // The store has refused `used` as expired: the next request is authorized by others. False: there
  // are no others.
  virtual bool refuse(const Used& used) = 0;
  // "the environment", for messages; empty for nobody.
  virtual std::string whose() const = 0;
};

// Nobody: for public data.
std::unique_ptr<Authorizer> anonymous_authorizer();
// The chain of aws_credentials.h, which all stores of a process share.
using AwsChain = std::shared_ptr<Renewed<AwsCredentials>>;
std::unique_ptr<Authorizer> aws_authorizer(AwsChain chain, std::function<Moment()> now);
std::unique_ptr<Authorizer> google_hmac_authorizer(SigningKeys keys, std::function<Moment()> now);
using GoogleChain = std::shared_ptr<Renewed<BearerToken>>;
std::unique_ptr<Authorizer> google_token_authorizer(GoogleChain chain);

}  // namespace ffkit
