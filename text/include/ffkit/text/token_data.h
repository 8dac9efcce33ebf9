// Token data: data sets of tokens, as ffconvert text writes them. A record is a block of documents:
//
//   tokens          tensor u16 [T], or u32 if the vocabulary has more than 65,536 tokens: the
//                   documents of the block behind each other, each with end-of-text at its end
//   document_ends   tensor u32 [D]: document d, with its end-of-text, is tokens[b .. e - 1], with
//                   b = document_ends[d - 1], or 0 for the first, and e = document_ends[d]
//   num_tokens      scalar i64, column: T
//   num_documents   scalar i64, column: D; may be 0
//   text_bytes      scalar i64, column: bytes of the documents' text; 0 if they came as tokens
//   num_empty       scalar i64, column: documents without any token; they are left out
//   id              string, column: where the block begins in its source, "books.jsonl:1"
//
// The manifest's options describe the tokens: "vocabulary", "end_of_text", and "tokenizer", the
// fingerprint, if ffkit made the tokens from text. The data set's split "tokenizer" has the
// tokenizer itself: one record whose string field "tokenizer" is the text of a tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/text/tokenizer.h>

namespace ffkit::text {

inline constexpr const char* kTokensField = "tokens";
inline constexpr const char* kDocumentEndsField = "document_ends";
inline constexpr const char* kNumTokensField = "num_tokens";
inline constexpr const char* kNumDocumentsField = "num_documents";
inline constexpr const char* kTextBytesField = "text_bytes";
inline constexpr const char* kNumEmptyField = "num_empty";
// The split, its field, and the option with the fingerprint.
inline constexpr const char* kTokenizer = "tokenizer";
inline constexpr const char* kVocabularyOption = "vocabulary";
inline constexpr const char* kEndOfTextOption = "end_of_text";

// u16 for up to 65,536 tokens, else u32.
DType token_dtype(int64_t vocabulary_size);
Schema token_schema(DType dtype);
Schema tokenizer_schema();
// Whether records of this schema are blocks of documents.
bool is_token_schema(const Schema& schema);

// Facts about the tokens in a split's manifest.
struct TokenFacts {
  int64_t vocabulary_size = 0;
  uint32_t end_of_text = 0;
  std::string tokenizer;  // Tokenizer::fingerprint(); empty: not known
};
// Throws Error(invalid_argument) for a data set without tokens.
TokenFacts token_facts(const Dataset& split);

// The tokenizer of a data set. `data` is its folder, or the folder of one of its splits. Throws
// Error(not_found) without a tokenizer, Error(corrupt) if it is not the one that was stored.
Tokenizer stored_tokenizer(const std::filesystem::path& data);

// The documents of a block. Not thread-safe. It points into the memory of its record.
class TokenBlock {
 public:
  // `record` has token_schema(). Throws Error(corrupt) if the documents do not fit the tokens.
  explicit TokenBlock(const RecordView& record, const Schema& schema);

  [[nodiscard]] int64_t num_tokens() const noexcept { return num_tokens_; }
  [[nodiscard]] int64_t num_documents() const { return std::ssize(ends_); }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  // All tokens, num_tokens() numbers of dtype(), aligned to it.
  [[nodiscard]] const void* tokens() const noexcept { return tokens_; }
  // The begin and the end of document `d` in tokens().
  [[nodiscard]] int64_t begin(int64_t d) const { return d == 0 ? 0 : ends_[d - 1]; }
  [[nodiscard]] int64_t end(int64_t d) const { return ends_[d]; }
  // The tokens of document `d` with its end-of-text.
  [[nodiscard]] std::vector<uint32_t> document(int64_t d) const;

 private:
  DType dtype_ = DType::u16;
  const void* tokens_ = nullptr;
  int64_t num_tokens_ = 0;
  std::span<const uint32_t> ends_;
};

}  // namespace ffkit::text
