#include "nuscenes/tables/json_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include <ffkit/nuscenes/geometry.h>

#include "base/make_error.h"
#include "numbers/json_numbers.h"

namespace ffkit::nuscenes {
namespace {

constexpr size_t kDigits = 16;  // of each half

bool parse_half(std::string_view digits, uint64_t& out) {
  out = 0;
  for (const char c : digits) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else {
      return false;
    }
    out = out << 4 | digit;
  }
  return true;
}

namespace dom = simdjson::dom;

constexpr size_t kRowChunkBytes = 1 << 20;
constexpr size_t kMaxRowBytes = 64 << 20;
constexpr size_t kNotEnded = ~size_t{0};

bool is_row_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Behind the object that begins at `begin`, or kNotEnded. Parsing finds what else is wrong with it.
size_t end_of_object(const char* text, size_t begin, size_t end) {
  int depth = 0;
  for (size_t i = begin; i < end;) {
    const char c = text[i++];
    if (c == '"') {
      while (i < end && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      ++i;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i;
    }
  }
  return kNotEnded;
}

}  // namespace

bool parse_token(std::string_view text, Token& out) {
  return text.size() == 2 * kDigits && parse_half(text.substr(0, kDigits), out.high) &&
         parse_half(text.substr(kDigits), out.low) && !out.is_none();
}

std::string to_string(const Token& token) {
  return token.is_none() ? "" : fmt::format("{:016x}{:016x}", token.high, token.low);
}

TokenIndex::TokenIndex(std::span<const Token> tokens) : tokens_(tokens) {
  slots_.assign(std::bit_ceil(2 * tokens.size() + 1), kNoRow);
  mask_ = slots_.size() - 1;
  for (size_t row = 0; row < tokens.size(); ++row) {
    const size_t slot = slot_of(tokens[row]);
    if (slots_[slot] == kNoRow) {
      slots_[slot] = static_cast<Row>(row);
    } else if (repeated_ == kNoRow) {
      repeated_ = static_cast<Row>(row);
    }
  }
}

Row TokenIndex::find(const Token& token) const {
  return slots_.empty() ? kNoRow : slots_[slot_of(token)];
}

// Where the token is, or the empty slot where it would be. Tokens are hashes already; the factor
// spreads those that someone has made up.
size_t TokenIndex::slot_of(const Token& token) const {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  size_t slot = static_cast<size_t>(((token.low ^ token.high) * kGolden) >> 20) & mask_;
  while (slots_[slot] != kNoRow && tokens_[slots_[slot]] != token) slot = (slot + 1) & mask_;
  return slot;
}

dom::element JsonRow::require(std::string_view key) const {
  dom::element value;
  if (object_.at_key(key).get(value) != simdjson::SUCCESS)
    refuse(fmt::format("the row has no '{}'", key));
  return value;
}

bool JsonRow::has(std::string_view key) const {
  return object_.at_key(key).error() == simdjson::SUCCESS;
}

void JsonRow::refuse(const std::string& what) const {
  std::string_view token;
  const bool has_token = object_.at_key("token").get_string().get(token) == simdjson::SUCCESS;
  const std::string number = number_beyond_json(text_);
  throw error_of(
      ErrorCode::corrupt, "row {}: {}; {}", has_token ? token : "without token",
      number.empty() ? what : fmt::format("{} ({})", what, number),
      number.empty() ? kUnpackAgain : "write the table again with a number in this place");
}

Token JsonRow::token(std::string_view key) const {
  Token token;
  if (const std::string_view value = text(key); !parse_token(value, token)) {
    refuse(fmt::format("'{}' is '{}', but must be a token of 32 hexadecimal digits", key, value));
  }
  return token;
}

Token JsonRow::token_or_none(std::string_view key) const {
  return text(key).empty() ? Token{} : token(key);
}

template <typename T>
T JsonRow::value(std::string_view key, const char* otherwise) const {
  T value{};
  const dom::element element = require(key);
  if (element.get(value) != simdjson::SUCCESS) {
    refuse(fmt::format("'{}' is {}, {}", key, json_excerpt(element), otherwise));
  }
  return value;
}

int64_t JsonRow::integer(std::string_view key) const {
  return value<int64_t>(key, "but must be an integer");
}

bool JsonRow::boolean(std::string_view key) const {
  return value<bool>(key, "but must be true or false");
}

std::string_view JsonRow::text(std::string_view key) const {
  return value<std::string_view>(key, "but must be text");
}

void JsonRow::numbers(std::string_view key, std::span<double> out) const {
  const std::vector<double> values = matrix(key);
  if (values.size() != out.size()) {
    refuse(fmt::format("'{}' has {} numbers, but must have {}", key, values.size(), out.size()));
  }
  std::copy(values.begin(), values.end(), out.begin());
}

void JsonRow::numbers_or_nan(std::string_view key, std::span<double> out) const {
  ffkit::numbers_or_nan(require(key), out);
}

void JsonRow::rotation(std::string_view key, std::span<double, 4> out) const {
  numbers(key, out);
  if (is_rotation({out[0], out[1], out[2], out[3]})) return;
  refuse(fmt::format("'{}' is ({:g}), but these numbers are not a rotation", key,
                     fmt::join(out, ", ")));
}

std::vector<double> JsonRow::matrix(std::string_view key) const {
  const dom::element element = require(key);
  std::vector<double> values;
  try {
    append_numbers(element, std::span<const int64_t>(json_shape(element)), values);
  } catch (const Error& error) {
    refuse(fmt::format("'{}': {}", key, error.what()));
  }
  for (const double value : values) {
    if (!std::isfinite(value)) refuse(fmt::format("'{}' is not finite", key));
  }
  return values;
}

std::vector<Token> JsonRow::tokens(std::string_view key) const {
  std::vector<Token> tokens;
  for (const dom::element item : value<dom::array>(key, "which is not a list of tokens")) {
    std::string_view value;
    Token token;
    if (item.get_string().get(value) != simdjson::SUCCESS || !parse_token(value, token)) {
      refuse(fmt::format("'{}' has {}, which is not a token", key, json_excerpt(item)));
    }
    tokens.push_back(token);
  }
  return tokens;
}

std::unique_ptr<JsonChunk> JsonChunks::next() {
  if (is_done_) return nullptr;
  auto chunk = std::make_unique<JsonChunk>();
  chunk->text = std::move(leftover_);
  leftover_.clear();
  chunk->offset = offset_ - std::ssize(chunk->text);
  const size_t num_left = static_cast<size_t>(file_.size() - offset_);
  const size_t num_new = std::min(num_left, std::max(kRowChunkBytes, chunk->text.size()));
  const size_t num_old = chunk->text.size();
  chunk->text.resize(num_old + num_new + simdjson::SIMDJSON_PADDING);
  file_.read_at(offset_, std::as_writable_bytes(std::span(chunk->text)).subspan(num_old, num_new));
  offset_ += static_cast<int64_t>(num_new);
  scan(*chunk, num_old + num_new);
  is_done_ = offset_ == file_.size();
  if (is_done_ && (state_ != State::end || !leftover_.empty())) {
    fail_at(*chunk, num_old + num_new, "the table does not end, so the file was cut short");
  }
  if (leftover_.size() > kMaxRowBytes) {
    fail_at(*chunk, 0,
            fmt::format("a row has more than {} MiB, which is too much for one row, so a bracket "
                        "or a quotation mark may be missing",
                        kMaxRowBytes >> 20));
  }
  return chunk;
}

void JsonChunks::scan(JsonChunk& chunk, size_t num_bytes) {
  const char* const text = chunk.text.data();
  for (size_t i = 0; i < num_bytes;) {
    const char c = text[i];
    if (is_row_space(c)) {
      ++i;
      continue;
    }
    const bool is_row = c == '{' && (state_ == State::first || state_ == State::row);
    if (is_row) {
      const size_t end = end_of_object(text, i, num_bytes);
      if (end == kNotEnded) {
        leftover_.assign(text + i, text + num_bytes);
        return;
      }
      chunk.rows.emplace_back(i, end - i);
      state_ = State::behind_row;
      i = end;
      continue;
    }
    if (state_ == State::before && c == '[') {
      state_ = State::first;
    } else if (state_ == State::behind_row && c == ',') {
      state_ = State::row;
    } else if ((state_ == State::first || state_ == State::behind_row) && c == ']') {
      state_ = State::end;
    } else {
      fail_at(chunk, i, fmt::format("there is an unexpected '{}'", c));
    }
    ++i;
  }
}

void JsonChunks::fail_at(const JsonChunk& chunk, size_t position, const std::string& what) const {
  throw Error(
      ErrorCode::corrupt,
      fmt::format("the file is not a table of nuScenes: {}; {}", what, kUnpackAgain),
      {.path = file_.path().string(), .offset = chunk.offset + static_cast<int64_t>(position)});
}

}  // namespace ffkit::nuscenes
