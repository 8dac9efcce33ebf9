// Tokenizer: byte-level BPE as of GPT-2 (Radford et al. 2019), Llama 3 and Qwen: text ─▶ words ─▶
// bytes, merged pair by pair ─▶ token numbers.
//
//   words   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//           or as tokenizer.json says; no merge crosses their borders
//   merges  of the pairs of neighbours in a word, the one that is first in the list of merges is
//           joined, everywhere, until none is in the list
//
// The numbers are those of Hugging Face's tokenizers where its encode_special_tokens is on: text
// never makes a special token, "<|endoftext|>" in a text is taken as the 13 characters that it is,
// but it makes added tokens that are not special. Bytes that are no UTF-8 are taken as U+FFFD, as
// Python's bytes.decode(errors="replace") does it.
//
// A cheap handle: copies share one immutable tokenizer, and all const functions are thread-safe. A
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

// What encode() makes of the name of a special token in a text, such as "<|endoftext|>".
enum class SpecialTokens {
  as_text,    // the tokens of its characters
  as_tokens,  // the special token, as Hugging Face's programs with encode_special_tokens off
};

class Tokenizer {
 public:
  // From a folder with tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe
  // (names of GPT-2's publishers), looked for in this order; or from a file tokenizer.json.
  // The path "bytes" gives bytes(), unless there is a file or folder of that name. Throws
  // Error(not_found) without such files, Error(corrupt) for a damaged file, and Error(unsupported)
  // for a tokenizer.json that asks for something else. The message names file, reason and remedy.
  static Tokenizer open(const std::filesystem::path& path);
  // Token 0 .. 255 is the byte of this value, 256 is "<|endoftext|>". Needs no file, merges
  // nothing, and keeps every byte, also in text that is not UTF-8.
  static Tokenizer bytes();
  // From the text of a tokenizer.json. `name` stands in errors.
  static Tokenizer from_json(std::string_view json,
                             const std::filesystem::path& name = "tokenizer.json");
  // As the text of a tokenizer.json, which from_json() and Hugging Face's programs read. Equal
  // tokenizers give equal texts.
  [[nodiscard]] std::string to_json() const;

  // Numbers of tokens are 0 .. vocabulary_size()-1.
  [[nodiscard]] int64_t vocabulary_size() const noexcept;
  // The token that ends a document: "<|endoftext|>", else "<|end_of_text|>", else "</s>". Throws
  // Error(not_found) for a vocabulary with none of them.
  [[nodiscard]] uint32_t end_of_text() const;
  [[nodiscard]] bool has_end_of_text() const noexcept;
  // 16 hex digits that tell vocabularies, merges and special tokens apart.
  [[nodiscard]] const std::string& fingerprint() const noexcept;

  // Appends the tokens of `text` to `ids`. Use it for prompts; for a lot of text a TokenEncoder is
  // many times as fast. Throws Error(invalid_argument) when a byte of the text is no token of the
  // vocabulary.
  void encode(std::string_view text, std::vector<uint32_t>& ids,
              SpecialTokens special = SpecialTokens::as_text) const;
  // What the tokenizer's post_processor puts around each document, such as Llama 3's
  // "<|begin_of_text|>". encode() leaves it out.
  [[nodiscard]] const std::vector<uint32_t>& before_document() const noexcept;
  [[nodiscard]] const std::vector<uint32_t>& after_document() const noexcept;
  // A sentence about both; empty where there is neither.
  [[nodiscard]] std::string document_note() const;
  // Whether bytes that are no UTF-8 are kept, as by bytes().
  [[nodiscard]] bool keeps_bytes() const noexcept;
  // The bytes of a token; a special or an added token's are its name. Throws
  // Error(invalid_argument) for a number that is none.
  [[nodiscard]] std::string_view token_bytes(uint32_t id) const;
  // Whether the token is a special one, such as end_of_text(), which no text makes. False for a
  // number that is none.
  [[nodiscard]] bool is_special(uint32_t id) const;
  // The bytes of all `ids`, one after the other. They may be no UTF-8, such as where half a
  // character is at the end. Throws as token_bytes().
  [[nodiscard]] std::string decode(std::span<const uint32_t> ids) const;

  struct Tables;  // private to the library

 private:
  friend class TokenEncoder;
  explicit Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const Tables> tables_;
};

// TokenEncoder: encodes a lot of text. It keeps the tokens of words that it has seen, up to 32 MB,
// and gives the numbers of Tokenizer::encode(). Not thread-safe: one per thread.
class TokenEncoder {
 public:
  explicit TokenEncoder(Tokenizer tokenizer);
  ~TokenEncoder();
  TokenEncoder(TokenEncoder&&) noexcept;
  TokenEncoder& operator=(TokenEncoder&&) noexcept;

  [[nodiscard]] const Tokenizer& tokenizer() const noexcept { return tokenizer_; }
  // As Tokenizer::encode().
  void encode(std::string_view text, std::vector<uint32_t>& ids);
  // The same between before_document() and after_document(), without `end_of_text` at the end;
  // nothing of a text without tokens.
  void encode_document(std::string_view text, uint32_t end_of_text, std::vector<uint32_t>& ids);

 private:
  struct Cache;
  class Sink;
  Tokenizer tokenizer_;
  std::unique_ptr<Cache> cache_;
};

// TokenDecoder: text of one token after another, whole characters of UTF-8 at a time, for text that
// is shown while it is made. Not thread-safe.
class TokenDecoder {
 public:
  explicit TokenDecoder(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // The characters that are complete with this token, valid UTF-8. Bytes that can never become a
  // character are U+FFFD. Throws as token_bytes().
  std::string add(uint32_t id) { return add_bytes(tokenizer_.token_bytes(id)); }
  // The same of bytes that follow.
  std::string add_bytes(std::string_view bytes);
  // U+FFFD for a character that was begun and not ended, else nothing. Begins anew.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  std::string begun_;
};

}  // namespace ffkit::text
