// A tokenizer.json of any bytes on the first line, and a text behind it: a tokenizer that gives the
// same tokens by both ways and after it was stored, or Errors.
#include <ffkit/text/tokenizer.h>

#include "touch.h"

namespace {

std::vector<uint32_t> tokens_of(
    const ffkit::text::Tokenizer& tokenizer, std::string_view text,
    ffkit::text::SpecialTokens special = ffkit::text::SpecialTokens::as_text) {
  std::vector<uint32_t> ids;
  tokenizer.encode(text, ids, special);
  return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\n'), input.size());
  // A pattern may try each place of a text at each other one.
  const std::string_view text = input.substr(std::min(end + 1, input.size())).substr(0, 300);
  ffkit::fuzzing::attempt([&] {
    const ffkit::text::Tokenizer tokenizer =
        ffkit::text::Tokenizer::from_json(input.substr(0, end));
    const ffkit::text::Tokenizer stored = ffkit::text::Tokenizer::from_json(tokenizer.to_json());
    if (stored.fingerprint() != tokenizer.fingerprint()) std::abort();
    const std::vector<uint32_t> ids = tokens_of(tokenizer, text);
    for (const uint32_t id : ids) {
      if (id >= tokenizer.vocabulary_size() || tokenizer.is_special(id)) std::abort();
    }
    ffkit::text::TokenEncoder encoder(tokenizer);
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<uint32_t> again;
      encoder.encode(text, again);
      if (again != ids) std::abort();
    }
    if (tokens_of(stored, text) != ids) std::abort();
    constexpr auto kAsTokens = ffkit::text::SpecialTokens::as_tokens;
    if (tokens_of(stored, text, kAsTokens) != tokens_of(tokenizer, text, kAsTokens)) std::abort();
    ffkit::fuzzing::sink = static_cast<unsigned>(tokenizer.decode(ids).size());
  });
  return 0;
}
