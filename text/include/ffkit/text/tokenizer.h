// Tokenizer: the byte-level BPE of GPT-2 (Radford et al. 2019), Llama 3 and Qwen: text ─▶ words ─▶
// bytes, merged pair by pair ─▶ token numbers.
//
//   words   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//           or as tokenizer.json says; no merge crosses their borders
//   merges  of all pairs of neighbours in a word, the pair that comes first in the list of merges
//           is joined, everywhere, until no pair is in the list
//
// The numbers are those of Hugging Face's tokenizers with encode_special_tokens on: a text never
// becomes a special token, so "<|endoftext|>" in a text stays 13 characters. Added tokens that are
// not special do occur in texts. Bytes that are not UTF-8 become U+FFFD, as with Python's
// bytes.decode(errors="replace").
//
// Copies are cheap and share one immutable tokenizer. All const functions are thread-safe. A
// moved-from object can only be destroyed or assigned to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::text {

// How encode() treats the name of a special token in a text, such as "<|endoftext|>".
enum class SpecialTokens {
  as_text,    // the tokens of its characters
  as_tokens,  // the special token, as Hugging Face's tokenizers with encode_special_tokens off
};

class Tokenizer {
 public:
  // `path` is a tokenizer.json, or a folder with tokenizer.json, or with vocab.json and merges.txt,
  // or with encoder.json and vocab.bpe (GPT-2's names), searched in this order. "bytes" gives
  // bytes(), unless a file or folder has that name. Throws Error(not_found) without such files,
  // Error(corrupt) for a damaged file, and Error(unsupported) for another kind of tokenizer.json.
  // The message names file, reason and remedy.
  static Tokenizer open(const std::filesystem::path& path);
  // Tokens 0 .. 255 are the bytes of these values, 256 is "<|endoftext|>". It needs no file, merges
  // nothing, and keeps every byte, also of text that is not UTF-8.
  static Tokenizer bytes();
  // From the text of a tokenizer.json. Errors contain `name`.
  static Tokenizer from_json(std::string_view json,
                             const std::filesystem::path& name = "tokenizer.json");
  // The text of a tokenizer.json, which from_json() and Hugging Face's programs read. Equal
  // tokenizers give equal texts.
  [[nodiscard]] std::string to_json() const;

  // Numbers of tokens are 0 .. vocabulary_size()-1.
  [[nodiscard]] int64_t vocabulary_size() const noexcept;
  // The token that ends a document: "<|endoftext|>", else "<|end_of_text|>", else "</s>". Throws
  // Error(not_found) for a vocabulary with none of them.
  [[nodiscard]] uint32_t end_of_text() const;
  [[nodiscard]] bool has_end_of_text() const noexcept;
  // 16 hex digits that identify vocabulary, merges and special tokens.
  [[nodiscard]] const std::string& fingerprint() const noexcept;

  // Appends the tokens of `text` to `ids`. Use it for prompts; for much text, a TokenEncoder is
  // many times as fast. Throws Error(invalid_argument) if a byte of the text is not in the
  // vocabulary.
  void encode(std::string_view text, std::vector<uint32_t>& ids,
              SpecialTokens special = SpecialTokens::as_text) const;
  // The tokens that the tokenizer's post_processor puts around each document, such as Llama 3's
  // "<|begin_of_text|>". encode() leaves them out.
  [[nodiscard]] const std::vector<uint32_t>& before_document() const noexcept;
  [[nodiscard]] const std::vector<uint32_t>& after_document() const noexcept;
  // A sentence about both; empty without any.
  [[nodiscard]] std::string document_note() const;
  // Whether bytes that are not UTF-8 are kept, as by bytes().
  [[nodiscard]] bool keeps_bytes() const noexcept;
  // The bytes of a token; those of a special or an added token are its name. Throws
  // Error(invalid_argument) for a number that is no token.
  [[nodiscard]] std::string_view token_bytes(uint32_t id) const;
  // Whether the token is special, such as end_of_text(), so that it never comes from text. False
  // for a number that is not a token.
  [[nodiscard]] bool is_special(uint32_t id) const;
  // The bytes of all `ids`, one after the other. They may not be UTF-8, for instance with half a
  // character at the end. Throws as token_bytes().
  [[nodiscard]] std::string decode(std::span<const uint32_t> ids) const;

  struct Tables;  // private to the library

 private:
  friend class TokenEncoder;
  explicit Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const Tables> tables_;
};

// TokenEncoder: encodes much text, with the results of Tokenizer::encode(). It keeps the tokens of
// earlier words, up to 32 MB. Not thread-safe: one per thread.
class TokenEncoder {
 public:
  explicit TokenEncoder(Tokenizer tokenizer);
  ~TokenEncoder();
  TokenEncoder(TokenEncoder&&) noexcept;
  TokenEncoder& operator=(TokenEncoder&&) noexcept;

  [[nodiscard]] const Tokenizer& tokenizer() const noexcept { return tokenizer_; }
  // As Tokenizer::encode().
  void encode(std::string_view text, std::vector<uint32_t>& ids);
  // The same between before_document() and after_document(), without an `end_of_text` at the end. A
  // text without tokens gives nothing.
  void encode_document(std::string_view text, uint32_t end_of_text, std::vector<uint32_t>& ids);

 private:
  struct Cache;
  Tokenizer tokenizer_;
  std::unique_ptr<Cache> cache_;
};

// TokenDecoder: converts tokens one by one to whole UTF-8 characters, to show text while it is
// generated. Not thread-safe.
class TokenDecoder {
 public:
  explicit TokenDecoder(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // The characters that this token completes, as valid UTF-8. Bytes that can never become a
  // character are U+FFFD. Throws as token_bytes().
  std::string add(uint32_t id) { return add_bytes(tokenizer_.token_bytes(id)); }
  // The same for bytes.
  std::string add_bytes(std::string_view bytes);
  // Ends the text: U+FFFD if a character is not complete, else nothing. Then begins anew.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  std::string begun_;
};

}  // namespace ffkit::text
