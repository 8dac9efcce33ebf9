#include <fmt/format.h>

#include <utility>

#include <ffkit/text/tokenizer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "tokenizer_tables.h"
#include "words/characters.h"
#include "words/pre_tokenizer.h"

namespace ffkit::text {

namespace fs = std::filesystem;

namespace {

class MergingSink final : public TextSink {
 public:
  MergingSink(const Tokenizer::Tables& tables, std::vector<uint32_t>& ids)
      : tables_(tables), ids_(ids) {}

  void add(std::string_view piece) override {
    if (!tables_.splits_words) return merge_word(tables_, piece, ids_);
    for (WordSplitter words(piece); !words.is_at_end();) merge_word(tables_, words.next(), ids_);
  }
  void add_token(uint32_t id) override { ids_.push_back(id); }

 private:
  const Tokenizer::Tables& tables_;
  std::vector<uint32_t>& ids_;
};

}  // namespace

Tokenizer Tokenizer::open(const fs::path& path) {
  if (path == "bytes" && !fs::exists(path)) return bytes();
  return Tokenizer(std::make_shared<const Tables>(read_tokenizer_files(path)));
}

Tokenizer Tokenizer::bytes() {
  Tables tables;
  for (int byte = 0; byte < 256; ++byte) tables.tokens.emplace_back(1, static_cast<char>(byte));
  tables.tokens.emplace_back("<|endoftext|>");
  tables.is_special.resize(257);
  tables.is_special[256] = true;
  tables.splits_words = false;
  tables.finish();
  return Tokenizer(std::make_shared<const Tables>(std::move(tables)));
}

Tokenizer Tokenizer::from_json(std::string_view json, const fs::path& name) {
  return Tokenizer(std::make_shared<const Tables>(parse_tokenizer_json(json, name)));
}

std::string Tokenizer::to_json() const {
  return to_tokenizer_json(*tables_);
}

int64_t Tokenizer::vocabulary_size() const noexcept {
  return std::ssize(tables_->tokens);
}

uint32_t Tokenizer::end_of_text() const {
  if (!has_end_of_text()) {
    throw Error(ErrorCode::not_found,
                "the vocabulary has no token for the end of a text: neither <|endoftext|> nor "
                "<|end_of_text|> nor </s>");
  }
  return tables_->end_of_text;
}

bool Tokenizer::has_end_of_text() const noexcept {
  return tables_->end_of_text != kNoToken;
}

const std::string& Tokenizer::fingerprint() const noexcept {
  return tables_->fingerprint;
}

void Tokenizer::encode(std::string_view text, std::vector<uint32_t>& ids,
                       SpecialTokens special) const {
  std::string valid;
  if (!tables_->keeps_bytes && !is_valid_utf8(text)) text = valid = with_replacements(text);
  MergingSink sink(*tables_, ids);
  cut_text(*tables_, text, sink, special);
}

const std::vector<uint32_t>& Tokenizer::before_document() const noexcept {
  return tables_->before;
}

const std::vector<uint32_t>& Tokenizer::after_document() const noexcept {
  return tables_->after;
}

std::string Tokenizer::document_note() const {
  const auto names = [this](const std::vector<uint32_t>& ids) {
    std::string all;
    for (const uint32_t id : ids) all += (all.empty() ? "" : " ") + printable(token_bytes(id));
    return all;
  };
  const std::string before = names(tables_->before), after = names(tables_->after);
  if (before.empty() && after.empty()) return {};
  return fmt::format("each document {}{}{}{}, as the post_processor of the tokenizer says",
                     before.empty() ? "" : "begins with " + before,
                     before.empty() || after.empty() ? "" : " and ",
                     after.empty() ? "" : "ends with ", after);
}

bool Tokenizer::keeps_bytes() const noexcept {
  return tables_->keeps_bytes;
}

std::string_view Tokenizer::token_bytes(uint32_t id) const {
  if (id >= tables_->tokens.size()) {
    throw error_of(ErrorCode::invalid_argument, "token {} is not in the vocabulary of {} tokens",
                   id, tables_->tokens.size());
  }
  return tables_->tokens[id];
}

bool Tokenizer::is_special(uint32_t id) const {
  return id < tables_->tokens.size() && tables_->is_special[id];
}

std::string Tokenizer::decode(std::span<const uint32_t> ids) const {
  std::string bytes;
  for (const uint32_t id : ids) bytes += token_bytes(id);
  return bytes;
}

std::string TokenDecoder::add_bytes(std::string_view bytes) {
  begun_ += bytes;
  std::string text;
  std::string_view rest = begun_;
  while (!rest.empty()) {
    const Utf8Part part = first_part(rest);
    if (part.kind == Utf8Kind::begun) break;
    text += part.kind == Utf8Kind::character ? rest.substr(0, part.length) : kReplacement;
    rest.remove_prefix(part.length);
  }
  begun_.erase(0, begun_.size() - rest.size());
  return text;
}

std::string TokenDecoder::finish() {
  const bool is_begun = !std::exchange(begun_, {}).empty();
  return std::string(is_begun ? kReplacement : "");
}

}  // namespace ffkit::text
