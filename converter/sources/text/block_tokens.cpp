#include "sources/text/block_tokens.h"

#include <fmt/format.h>

#include <limits>

#include <ffkit/format/error.h>

#include "format/printable.h"

namespace ffkit {
namespace {

namespace dom = simdjson::dom;

[[noreturn]] void refuse_document(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace

BlockTokens::BlockTokens(const TokenRules& rules) : rules_(rules) {
  if (rules.tokenizer) encoder_.emplace(*rules.tokenizer);
}

void BlockTokens::clear() {
  ids.clear();
  document_ends.clear();
  text_bytes = 0;
  num_empty = 0;
}

void BlockTokens::add(std::string_view text) {
  const size_t before = ids.size();
  try {
    if (rules_.is_json) {
      add_json(text);
    } else {
      add_text(text);
    }
  } catch (const Error&) {
    ids.resize(before);
    throw;
  }
  if (ids.size() == before) {
    ++num_empty;
    return;
  }
  // Tokens that were ready may have theirs already.
  if (rules_.tokens_field.empty() || ids.back() != rules_.end_of_text) {
    ids.push_back(rules_.end_of_text);
  }
  if (ids.size() > std::numeric_limits<uint32_t>::max()) {
    ids.resize(before);
    refuse_document(
        "the block of this document has more than 2^32 tokens; take a smaller "
        "--block-bytes");
  }
  document_ends.push_back(static_cast<uint32_t>(ids.size()));
}

void BlockTokens::add_text(std::string_view text) {
  encoder_->encode_document(text, rules_.end_of_text, ids);
  text_bytes += static_cast<int64_t>(text.size());
}

void BlockTokens::add_json(std::string_view line) {
  dom::element element;
  if (const auto error = parser_.parse(line.data(), line.size(), false).get(element);
      error != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt, fmt::format("is no JSON: {}", simdjson::error_message(error)));
  }
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) {
    refuse_document("is no JSON object; each line must be one, {...}");
  }
  const bool is_ready = !rules_.tokens_field.empty();
  const std::string& name = is_ready ? rules_.tokens_field : rules_.text_field;
  dom::element value;
  if (object.at_key(name).get(value) != simdjson::SUCCESS) {
    refuse_document(fmt::format("has no member '{}'; name the one with the {} by {}",
                                printable(name), is_ready ? "tokens" : "text",
                                is_ready ? "--tokens-field" : "--text-field"));
  }
  if (is_ready) {
    dom::array tokens;
    if (value.get(tokens) != simdjson::SUCCESS) {
      refuse_document(fmt::format("'{}' is no array of tokens", printable(name)));
    }
    add_tokens(tokens);
  } else {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      refuse_document(fmt::format("'{}' is no text", printable(name)));
    }
    add_text(text);
  }
}

void BlockTokens::add_tokens(const dom::array& tokens) {
  size_t place = 0;
  for (const dom::element token : tokens) {
    uint64_t id = 0;
    if (token.get(id) != simdjson::SUCCESS || id >= static_cast<uint64_t>(rules_.vocabulary_size)) {
      refuse_document(fmt::format("'{}'[{}] is {}, which is not in the vocabulary of {} tokens",
                                  printable(rules_.tokens_field), place,
                                  printable(simdjson::minify(token)), rules_.vocabulary_size));
    }
    ids.push_back(static_cast<uint32_t>(id));
    ++place;
  }
}

}  // namespace ffkit
