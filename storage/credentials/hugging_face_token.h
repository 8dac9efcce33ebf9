// The token for the Hugging Face hub: HF_TOKEN, or the file that `hf auth login` writes
// (HF_TOKEN_PATH, HF_HOME/token, ~/.cache/huggingface/token).
#pragma once

#include <string>

#include "credentials/surroundings.h"

namespace ffkit {

// Empty where there is none: public data sets need none.
std::string hugging_face_token(const Surroundings& surroundings);
// "https://huggingface.co", or HF_ENDPOINT; without a slash at its end.
std::string hugging_face_endpoint(const Surroundings& surroundings);

}  // namespace ffkit
