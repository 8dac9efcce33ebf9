// Normalizer: changes a text before it is cut into words: normal forms of Unicode 9, as in Hugging
// Face's tokenizers, and replacements. Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "words/pattern.h"

namespace ffkit::text {

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

struct NormalizerStep {
  NormalForm form = NormalForm::nfc;
  std::vector<Pattern> pattern{};  // one: each match becomes `content`, and there is no form
  std::string content{};
};

class Normalizer {
 public:
  std::vector<NormalizerStep> steps;

  // From valid UTF-8 to valid UTF-8. Returns `text` itself if nothing changes, else `buffer`.
  std::string_view apply(std::string_view text, std::string& buffer) const;
};

}  // namespace ffkit::text
