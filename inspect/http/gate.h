// Gate: who may ask. An address begins with a token that nobody guesses; pages of other sites, and
// names of other hosts that lead here (DNS rebinding), are refused even with it.
#pragma once

#include <optional>
#include <string>

#include "http/message.h"

namespace ffkit::http {

// 128 bits of the system's random numbers, 22 characters that an address can have.
std::string random_token();

class Gate {
 public:
  // Throws Error(invalid_argument) for a token of less than 16 or more than 128 characters, or with
  // others than letters, digits, '-' and '_'.
  explicit Gate(std::string token);

  [[nodiscard]] const std::string& token() const { return token_; }

  // Takes "/TOKEN" off the path, or says why the request is refused. Takes the same time for any
  // wrong token of the same length.
  std::optional<Response> refuse(Request& request) const;

 private:
  std::string token_;
};

}  // namespace ffkit::http
