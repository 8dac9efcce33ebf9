// StopStrings: texts behind which a generated text ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ffkit {

class StopStrings {
 public:
  struct Match {
    size_t begin = 0;  // in the text
    std::string text = {};
  };

  // None of `texts` is empty.
  explicit StopStrings(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  // The first stop string in `text` that ends within the last `num_new` bytes, those of its last
  // token. transformers' StopStringCriteria: it may begin in the prompt, and the token may go on
  // behind it.
  std::optional<Match> find(std::string_view text, size_t num_new) const;
  // How many bytes at the end of `text` may be the beginning of a stop string.
  size_t num_begun(std::string_view text) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace ffkit
