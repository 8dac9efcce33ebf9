// Credentials of Google's Cloud Storage, and the token for the Hugging Face hub. Google's:
//
//   1. HMAC keys: GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY
//   2. a JSON file of GOOGLE_APPLICATION_CREDENTIALS, or the one that `gcloud auth
//      application-default login` writes: a service account's key, or a user's refresh token
//   3. the metadata server of machines and pods of Google's (GCE_METADATA_HOST), unless
//      NO_GCE_CHECK
//
// Secrets are in no message.
#pragma once

#include <optional>
#include <string>

#include "credentials/surroundings.h"
#include "signing/signature.h"

namespace ffkit {

// The keys of the environment; nothing without them.
std::optional<SigningKeys> google_hmac_keys(const Surroundings& surroundings);

struct BearerToken {
  std::string token;
  std::optional<Moment> expires = {};
};

// A token by places 2 and 3. Throws Error(invalid_argument) where there is none, which says what
// was looked at.
BearerToken find_google_token(const Surroundings& surroundings);

// HF_TOKEN, or what the file has that `hf auth login` writes (HF_TOKEN_PATH, HF_HOME/token,
// ~/.cache/huggingface/token). Empty where there is none: public data sets need none.
std::string hugging_face_token(const Surroundings& surroundings);
// "https://huggingface.co", or HF_ENDPOINT; without a slash at its end.
std::string hugging_face_endpoint(const Surroundings& surroundings);

}  // namespace ffkit
