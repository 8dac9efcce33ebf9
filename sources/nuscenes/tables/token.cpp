#include "nuscenes/tables/token.h"

#include <fmt/format.h>

#include <bit>

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

}  // namespace ffkit::nuscenes
