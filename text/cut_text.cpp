#include "tokenizer_tables.h"

namespace ffkit {

void cut_text(const Tokenizer::Tables& tables, std::string_view text, TextSink& sink) {
  if (text.empty()) return;
  if (tables.is_plain) return sink.add(text);
  // As Hugging Face's: tokens that are no matter of the normalizer first, what is left is normalised, then the other tokens, then the steps of the pre-tokenizer.
  std::vector<TextPart> parts, inner;
  std::string buffer;
  tables.early.split(text, parts);
  for (const TextPart& part : parts) {
    if (part.token != nullptr) {
      sink.add_token(part.token->id);
      continue;
    }
    inner.clear();
    tables.late.split(tables.normalizer.apply(part.text, buffer), inner);
    for (const TextPart& piece : inner) {
      if (piece.token != nullptr) {
        sink.add_token(piece.token->id);
      } else {
        tables.pre_tokenizer.split(piece.text, sink);
      }
    }
  }
}

}  // namespace ffkit
