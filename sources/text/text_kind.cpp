#include <fmt/format.h>

#include <string_view>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/text.h>
#include <ffkit/text/token_data.h>

#include "converter/input/kind_options.h"

namespace ffkit {

void describe(TextOptions& options, OptionTable& table) {
  table
      .add("tokenizer", options.tokenizer,
           "File tokenizer.json of byte-level BPE, or a folder. The folder contains "
           "tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe. With the "
           "word 'bytes', each byte is a token")
      .set_stored(false);
  table
      .add("ending", options.ending,
           "Ending of the file names. Files with the ending .jsonl, .ndjson or .json are JSON, and "
           "all other files are text. The ending may also have .gz, .zst, .bz2 or .xz")
      .set_default("JSON if there is any, else .txt");
  table.add("document", options.document, "Part of a text file that becomes one document")
      .set_choices({"file", "line"})
      .set_default("file");
  table.add("text-field", options.text_field, "Member of a JSON document that contains the text");
  table.add("tokens-field", options.tokens_field,
            "Member of a JSON document that contains an array of tokens, if the documents have "
            "tokens instead of a text");
  table
      .add("vocabulary-size", options.vocabulary_size,
           fmt::format("Number of tokens in the vocabulary, if you give {} without {}",
                       option_name("tokens_field"), option_name("tokenizer")))
      .set_range(0, 1 << 24);
  table
      .add("end-of-text", options.end_of_text,
           "Number of the token that follows each document. -1 means the number in the tokenizer")
      .set_range(-1, (1 << 24) - 1)
      .set_default("from the tokenizer");
  table
      .add("block-bytes", options.block_bytes,
           "Approximate total size of the documents in one record")
      .set_size()
      .set_range(1 << 10, 1 << 30);
  table
      .add("max-document-bytes", options.max_document_bytes,
           "Limit for the size of a document. A longer document is a bad sample, and so is a JSON "
           "document without the text or the tokens. See " +
               option_name("bad_samples"))
      .set_size()
      .set_range(1 << 10, 1 << 30);
}

namespace {

class TextKind final : public KindOptions<TextOptions, open_text, text_files> {
 public:
  void check(const OptionTable& /*table*/) const override { validate(options_); }
};

// Numbers of tokens mean the same in all data sets.
constexpr const char* kOptionsOfTokens[] = {text::kTokenizer, text::kVocabularyOption,
                                            text::kEndOfTextOption};
constexpr MergeRule kSameTokens{
    .what = "tokens",
    .options = kOptionsOfTokens,
    .is_about =
        [](const std::string& split, const Schema& schema) {
          return text::is_token_schema(schema) || split == text::kTokenizer;
        },
    .is_shared =
        [](const std::string& split, const Schema& schema) {
          return split == text::kTokenizer && schema == text::tokenizer_schema();
        }};

static_assert(std::string_view(kReplacedAmong) == text::kTextBytesField);

}  // namespace

SourceKind text_kind() {
  return {.name = "text",
          .description =
              "Texts as tokens, for language models: a text file, a JSON file, or a folder of such "
              "files. The files may be compressed",
          .example = "/data/books /fast/books --tokenizer /data/gpt2",
          .options = make_source_options<TextKind>,
          .place = 61,
          .merge_rule = &kSameTokens};
}

}  // namespace ffkit
