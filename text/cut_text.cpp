#include "tokenizer_tables.h"

namespace ffkit::text {

void cut_text(const Tokenizer::Tables& tables, std::string_view text, TextSink& sink,
              SpecialTokens special) {
  if (text.empty()) return;
  const bool takes_special = special == SpecialTokens::as_tokens;
  if (tables.is_plain && !takes_special) return sink.add(text);
  const AddedTokens& early = takes_special ? tables.early_special : tables.early;
  const AddedTokens& late = takes_special ? tables.late_special : tables.late;
  // As Hugging Face's: tokens that are no matter of the normalizer first, what is left is
  // normalised, then the other tokens, then the steps of the pre-tokenizer.
  std::vector<TextPart> parts, inner;
  std::string buffer;
  early.split(text, parts);
  for (const TextPart& part : parts) {
    if (part.token != nullptr) {
      sink.add_token(part.token->id);
      continue;
    }
    inner.clear();
    late.split(tables.normalizer.apply(part.text, buffer), inner);
    for (const TextPart& piece : inner) {
      if (piece.token != nullptr) {
        sink.add_token(piece.token->id);
      } else {
        tables.pre_tokenizer.split(piece.text, sink);
      }
    }
  }
}

}  // namespace ffkit::text
