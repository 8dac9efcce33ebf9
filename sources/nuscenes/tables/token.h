// Tokens: the names of rows in nuScenes' tables, 32 hexadecimal digits, as 16 bytes; and where a
// table has which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::nuscenes {

struct Token {
  uint64_t high = 0;
  uint64_t low = 0;

  // No row: what the tables write as "".
  bool is_none() const { return high == 0 && low == 0; }
  bool operator==(const Token&) const = default;
};

// False for what is not 32 lower-case hexadecimal digits, and for 32 zeros.
bool parse_token(std::string_view text, Token& out);
std::string to_string(const Token& token);

// Row numbers; kNoRow means no row.
using Row = uint32_t;
inline constexpr Row kNoRow = ~Row{0};

// Finds the row that has a token: an open-addressed table of row numbers, 8 to 16 bytes a row.
// Thread-safe once built.
class TokenIndex {
 public:
  TokenIndex() = default;
  // `tokens` must stay where they are as long as the index is used. Of equal tokens, the first's
  // row is found, and `repeated` tells the row of the second.
  explicit TokenIndex(std::span<const Token> tokens);

  Row find(const Token& token) const;
  Row repeated() const { return repeated_; }

 private:
  size_t slot_of(const Token& token) const;

  std::span<const Token> tokens_;
  std::vector<Row> slots_;
  size_t mask_ = 0;
  Row repeated_ = kNoRow;
};

}  // namespace ffkit::nuscenes
