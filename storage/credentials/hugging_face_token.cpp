#include "credentials/hugging_face_token.h"

#include "addresses/url.h"

namespace ffkit {

std::string hugging_face_token(const Surroundings& surroundings) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string token = first_line(surroundings.variable(name)); !token.empty()) return token;
  }
  std::filesystem::path path = surroundings.variable("HF_TOKEN_PATH");
  if (path.empty()) {
    std::filesystem::path folder = surroundings.variable("HF_HOME");
    if (folder.empty()) {
      const std::string cache = surroundings.variable("XDG_CACHE_HOME");
      folder = (cache.empty() ? surroundings.home / ".cache" : std::filesystem::path(cache)) /
               "huggingface";
    }
    path = folder / "token";
  }
  return first_line(text_if_there(path).value_or(""));
}

std::string hugging_face_endpoint(const Surroundings& surroundings) {
  const std::string own = surroundings.variable("HF_ENDPOINT");
  std::string url = own.empty() ? "https://huggingface.co" : parse_url(own, "HF_ENDPOINT").text();
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace ffkit
