#include "text/block_tokens.h"

#include <algorithm>
#include <limits>
#include <new>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "numbers/json_members.h"
#include "text/words/characters.h"

namespace ffkit {
namespace {

namespace dom = simdjson::dom;

// Bytes that are no part of a character; each run of them becomes a U+FFFD.
int64_t num_bytes_of_no_character(std::string_view text) {
  int64_t count = 0;
  while (!text.empty()) {
    const Utf8Part part = first_part(text);
    if (part.kind != Utf8Kind::character) count += static_cast<int64_t>(part.length);
    text.remove_prefix(part.length);
  }
  return count;
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
  num_replaced = 0;
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
    refuse_argument("the block of this document has more than 2^32 tokens; use a smaller " +
                    option_name("block_bytes"));
  }
  document_ends.push_back(static_cast<uint32_t>(ids.size()));
}

void BlockTokens::add_text(std::string_view text) {
  if (rules_.replaces_bytes && !text::is_valid_utf8(text)) {
    num_replaced += num_bytes_of_no_character(text);
  }
  encoder_->encode_document(text, rules_.end_of_text, ids);
  text_bytes += std::ssize(text);
}

void BlockTokens::add_json(std::string_view line) {
  const dom::element value = member_of(line);
  if (!rules_.tokens_field.empty()) {
    dom::array tokens;
    if (value.get(tokens) != simdjson::SUCCESS) {
      refuse_argument(
          fmt::format("'{}' is not an array of tokens", printable(rules_.tokens_field)));
    }
    add_tokens(tokens);
  } else {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      refuse_argument(fmt::format("'{}' is not text", printable(rules_.text_field)));
    }
    add_text(text);
  }
}

// The last member of the name that is asked for, as in Python.
dom::element BlockTokens::member_of(std::string_view line) {
  const bool is_ready = !rules_.tokens_field.empty();
  const std::string& name = is_ready ? rules_.tokens_field : rules_.text_field;
  dom::element element;
  const auto error = parser_.parse(line.data(), line.size(), false).get(element);
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) return unusual_member_of(line, name);
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) {
    refuse_argument("is not a JSON object, {...}");
  }
  std::optional<dom::element> found;
  for (const auto& [key, value] : object) {
    if (key == name) found = value;
  }
  if (!found) refuse_without(name);
  return *found;
}

dom::element BlockTokens::unusual_member_of(std::string_view line, const std::string& name) {
  const std::vector<JsonMember> members = json_members(line);
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const JsonMember& member) { return member.key == name; });
  if (found == members.rend()) refuse_without(name);
  if (!found->problem.empty()) {
    refuse_argument(fmt::format("'{}' {}", printable(name), found->problem));
  }
  dom::element value;
  if (const auto error = parser_.parse(found->value.data(), found->value.size(), false).get(value);
      error != simdjson::SUCCESS) {
    throw error_of(ErrorCode::corrupt, "'{}' is not valid JSON: {}", printable(name),
                   simdjson::error_message(error));
  }
  return value;
}

void BlockTokens::refuse_without(const std::string& name) const {
  const bool is_ready = !rules_.tokens_field.empty();
  refuse_argument(fmt::format(
      "the document has no member '{}'; name the member with the {} with {}", printable(name),
      is_ready ? "tokens" : "text", option_name(is_ready ? "tokens_field" : "text_field")));
}

void BlockTokens::add_tokens(const dom::array& tokens) {
  size_t place = 0;
  for (const dom::element token : tokens) {
    uint64_t id = 0;
    if (token.get(id) != simdjson::SUCCESS || id >= static_cast<uint64_t>(rules_.vocabulary_size)) {
      refuse_argument(fmt::format("'{}'[{}] is {}, which is not in the vocabulary of {} tokens",
                                  printable(rules_.tokens_field), place,
                                  printable(simdjson::minify(token)), rules_.vocabulary_size));
    }
    ids.push_back(static_cast<uint32_t>(id));
    ++place;
  }
}

}  // namespace ffkit
