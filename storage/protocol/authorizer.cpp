#include "protocol/authorizer.h"

#include <utility>

#include "signing/signature.h"

namespace ffkit {
namespace {

// Over TLS nobody changes a body underway; without, its hash is signed.
Payload payload_of(const HttpRequest& request) {
  return request.body.empty() || request.url.starts_with("http://") ? Payload::hashed
                                                                    : Payload::unsigned_payload;
}

class Anonymous : public Authorizer {
 public:
  Used authorize(HttpRequest& /*request*/, const std::string& /*region*/) override { return {}; }
  bool refuse(const Used& /*used*/) override { return false; }
  std::string whose() const override { return {}; }
};

class AwsAuthorizer : public Authorizer {
 public:
  AwsAuthorizer(AwsChain chain, std::function<Moment()> now)
      : chain_(std::move(chain)), now_(std::move(now)) {}

  Used authorize(HttpRequest& request, const std::string& region) override {
    auto credentials = chain_->current();
    sign(request, credentials->keys, {region, "s3"}, now_(), payload_of(request));
    return credentials;
  }

  bool refuse(const Used& used) override {
    chain_->refuse(std::static_pointer_cast<const AwsCredentials>(used));
    return true;
  }

  std::string whose() const override {
    const auto credentials = chain_->last();
    return credentials == nullptr ? "nobody" : credentials->source;
  }

 private:
  const AwsChain chain_;
  const std::function<Moment()> now_;
};

class GoogleHmacAuthorizer : public Authorizer {
 public:
  GoogleHmacAuthorizer(SigningKeys keys, std::function<Moment()> now)
      : keys_(std::move(keys)), now_(std::move(now)) {}

  Used authorize(HttpRequest& request, const std::string& /*region*/) override {
    sign(request, keys_, {"auto", "storage"}, now_(), payload_of(request), kGoogleDialect);
    return {};
  }
  bool refuse(const Used& /*used*/) override { return false; }
  std::string whose() const override { return "GS_ACCESS_KEY_ID"; }

 private:
  const SigningKeys keys_;
  const std::function<Moment()> now_;
};

class GoogleTokenAuthorizer : public Authorizer {
 public:
  explicit GoogleTokenAuthorizer(GoogleChain chain) : chain_(std::move(chain)) {}

  Used authorize(HttpRequest& request, const std::string& /*region*/) override {
    auto token = chain_->current();
    request.headers.push_back("Authorization: Bearer " + token->token);
    return token;
  }
  bool refuse(const Used& used) override {
    chain_->refuse(std::static_pointer_cast<const BearerToken>(used));
    return true;
  }
  std::string whose() const override { return "Google's application default credentials"; }

 private:
  const GoogleChain chain_;
};

}  // namespace

std::unique_ptr<Authorizer> anonymous_authorizer() {
  return std::make_unique<Anonymous>();
}

std::unique_ptr<Authorizer> aws_authorizer(AwsChain chain, std::function<Moment()> now) {
  return std::make_unique<AwsAuthorizer>(std::move(chain), std::move(now));
}

std::unique_ptr<Authorizer> google_hmac_authorizer(SigningKeys keys, std::function<Moment()> now) {
  return std::make_unique<GoogleHmacAuthorizer>(std::move(keys), std::move(now));
}

std::unique_ptr<Authorizer> google_token_authorizer(GoogleChain chain) {
  return std::make_unique<GoogleTokenAuthorizer>(std::move(chain));
}

}  // namespace ffkit
