#include <fmt/format.h>

#include <charconv>

#include <ffkit/loader/loader_state.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr std::string_view kKind = "ffkit-loader-state-1";

// Takes "name=value" off the front of `text`, up to the next space, or to its end.
class StateParser {
 public:
  explicit StateParser(std::string_view text) : whole_(text), left_(text) {}

  void expect(std::string_view word) {
    if (!left_.starts_with(word)) refuse(word);
    left_.remove_prefix(word.size());
  }
  std::string_view word(std::string_view name) {
    expect(name);
    const std::string_view value = left_.substr(0, left_.find(' '));
    left_.remove_prefix(value.size());
    return value;
  }
  template <typename T>
  T number(std::string_view name) {
    const std::string_view digits = word(name);
    T value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) refuse(name);
    return value;
  }
  std::string_view rest(std::string_view name) {
    expect(name);
    return left_;
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const {
    throw error_of(ErrorCode::invalid_argument,
                   "'{}' is not the text of a loader's state: expected '{}' after {} characters; "
                   "give the text as it was saved",
                   whole_.substr(0, 200), expected, whole_.size() - left_.size());
  }

  std::string_view whole_;
  std::string_view left_;
};

}  // namespace

std::string LoaderState::to_text() const {
  return fmt::format("{} data={} seed={} epoch={} position={} order={}", kKind, fingerprint, seed,
                     epoch, position, order);
}

LoaderState LoaderState::from_text(std::string_view text) {
  StateParser parser(text);
  parser.expect(kKind);
  LoaderState state;
  state.fingerprint = parser.word(" data=");
  state.seed = parser.number<uint64_t>(" seed=");
  state.epoch = parser.number<int64_t>(" epoch=");
  state.position = parser.number<int64_t>(" position=");
  state.order = parser.rest(" order=");
  return state;
}

}  // namespace ffkit
