#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kTextParameters = {
    SourceParameter{.name = "tokenizer", .help = "A tokenizer.json of byte-level BPE, a folder with one or with vocab.json and merges.txt (or encoder.json and vocab.bpe), or the word bytes: a token a byte", .type = SourceParameter::Type::text},
    SourceParameter{.name = "ending", .help = "How the names of the files end, with or without .gz, .zst, .bz2, .xz: .jsonl, .ndjson and .json are JSON, others texts. By default JSON where there is any, else .txt", .type = SourceParameter::Type::text},
    SourceParameter{.name = "document", .help = "What a document is in texts: file (default) or line", .type = SourceParameter::Type::text},
    SourceParameter{.name = "text-field", .help = "Member of JSON documents with the text; text by default", .type = SourceParameter::Type::text},
    SourceParameter{.name = "tokens-field", .help = "Member of JSON documents with an array of tokens that are ready, instead of a text", .type = SourceParameter::Type::text},
    SourceParameter{"vocabulary-size", "Tokens of the vocabulary, for --tokens-field without --tokenizer", 0, 0, 1 << 24},
    SourceParameter{"end-of-text", "Number of the token behind each document; by default what the tokenizer says", -1, -1, (1 << 24) - 1},
    SourceParameter{"block-bytes", "A record holds documents of about so many bytes", 256 << 10, 1 << 10, 1 << 30},
    SourceParameter{"max-document-bytes", "Longest document; a longer one is a bad one, as one without the member: see --on-error", 64 << 20, 1 << 10, 1 << 30},
};
// clang-format on

TextOptions text_options(const SourceArguments& a) {
  TextOptions options{.tokenizer = a.text("tokenizer"),
                      .ending = a.text("ending"),
                      .document = a.text("document"),
                      .tokens_field = a.text("tokens-field"),
                      .vocabulary_size = a.number(kTextParameters[5]),
                      .end_of_text = a.number(kTextParameters[6]),
                      .block_bytes = a.number(kTextParameters[7]),
                      .max_document_bytes = a.number(kTextParameters[8]),
                      .temporary_folder = a.temporary_folder,
                      .cancel = a.cancel};
  if (const std::string field = a.text("text-field"); !field.empty()) options.text_field = field;
  return options;
}

std::unique_ptr<Source> open_text_at(const SourceArguments& a) {
  return open_text(a.path, text_options(a));
}

void check_text(const SourceArguments& a) {
  check_text_options(text_options(a));
}

}  // namespace

// clang-format off
SourceKind text_kind() {
  SourceKind kind{"text", "Texts as tokens, for language models: text files or JSON, compressed or not; one file, or a folder of files", "/data/books /fast/books --tokenizer /data/gpt2", true, kTextParameters, open_text_at, check_text};
  kind.place = 61;
  return kind;
}
// clang-format on

}  // namespace ffkit
