// BlockTokens: the tokens of a block, document by document. One thread's; kept from block to block.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/text/tokenizer.h>

namespace ffkit {

// What a document is and what becomes of it.
struct TokenRules {
  std::optional<text::Tokenizer> tokenizer;  // of texts
  bool replaces_bytes = false;               // what is no UTF-8 becomes U+FFFD
  bool is_json = false;                      // a document is a JSON object
  std::string text_field = "text";           // of it
  std::string tokens_field;                  // of it, instead: an array of tokens
  int64_t vocabulary_size = 0;
  uint32_t end_of_text = 0;
};

class BlockTokens {
 public:
  explicit BlockTokens(const TokenRules& rules);

  void clear();
  // Adds a document; `text` has simdjson::SIMDJSON_PADDING bytes behind it that may be read. Throws
  // Error without a path for what is none, and then holds what it held.
  void add(std::string_view text);

  std::vector<uint32_t> ids;
  std::vector<uint32_t> document_ends;
  int64_t text_bytes = 0;
  int64_t num_empty = 0;
  int64_t num_replaced = 0;    // bytes that were no UTF-8
  std::string first_replaced;  // where the first of them were; for the caller to set

 private:
  void add_json(std::string_view line);
  simdjson::dom::element member_of(std::string_view line);
  simdjson::dom::element unusual_member_of(std::string_view line, const std::string& name);
  [[noreturn]] void refuse_without(const std::string& name) const;
  void add_text(std::string_view text);
  void add_tokens(const simdjson::dom::array& tokens);

  const TokenRules& rules_;
  std::optional<text::TokenEncoder> encoder_;
  simdjson::dom::parser parser_;
};

}  // namespace ffkit
