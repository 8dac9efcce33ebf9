// What is done to a text before it is cut into words: AddedTokens finds tokens in it, Normalizer
// changes what is between them. Both are immutable.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "words/normalizer.h"
#include "words/pattern.h"

namespace ffkit::text {

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

struct NormalizerStep {
  NormalForm form = NormalForm::nfc;
  std::vector<Pattern> pattern{};  // one: each match becomes `content`, and there is no form
  std::string content{};
};

// Normal forms of Unicode 9, as in Hugging Face's tokenizers, and replacements.
class Normalizer {
 public:
  std::vector<NormalizerStep> steps;

  // From valid UTF-8 to valid UTF-8. Returns `text` itself if nothing changes, else `buffer`.
  std::string_view apply(std::string_view text, std::string& buffer) const;
};

struct AddedToken {
  uint32_t id = 0;
  std::string content;
  bool is_special = false;     // texts make it only if asked to
  bool is_normalized = false;  // is looked for after the normalizer
  bool is_word = false;        // is not found within a word
  bool strips_left = false;    // takes the white space before it, too
  bool strips_right = false;
  bool is_in_model = false;  // it is in the vocabulary of the model, too
};

// A part of a text: an added token, or text between them.
struct TextPart {
  std::string_view text;
  const AddedToken* token = nullptr;  // nullptr: text
};

// The tokens that are found in a text.
class AddedTokens {
 public:
  // Takes those of `tokens` that are looked for after the normalizer, or before it. `special` says
  // whether texts make special ones.
  AddedTokens() = default;
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const Normalizer& normalizer,
              bool special = false);

  bool is_empty() const { return entries_.empty(); }
  // Appends the parts of `text`, with the longest token at each place. They are views of `text` and
  // of this object.
  void split(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  struct Entry {
    std::string looked_for;  // the content, normalised
    AddedToken token;
  };
  const Entry* longest_at(std::string_view rest) const;

  std::vector<Entry> entries_;  // sorted by text
  std::array<bool, 256> begins_{};
  bool takes_special_ = false;
};

}  // namespace ffkit::text
