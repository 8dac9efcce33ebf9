#include <tbb/enumerable_thread_specific.h>

#include <algorithm>

#include <ffkit/base/option_names.h>
#include <ffkit/sources/text.h>
#include <ffkit/text/token_data.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "converter/input/listed_source.h"
#include "converter/input/sample_arrays.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/corpus_files.h"
#include "files/file_group.h"
#include "files/json_documents.h"
#include "files/text_files.h"
#include "format/content_kind.h"
#include "text/block_tokens.h"
#include "text/text_listing.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

TokenRules rules_of(const TextOptions& options, bool is_json) {
  TokenRules rules{.is_json = is_json,
                   .text_field = options.text_field,
                   .tokens_field = options.tokens_field,
                   .vocabulary_size = options.vocabulary_size};
  int64_t end_of_text = options.end_of_text;
  if (!options.tokenizer.empty()) {
    if (Place(options.tokenizer).is_in_store()) {
      throw argument_error("tokenizer",
                           fmt::format("{} is an address; copy its files to a disk, and give the "
                                       "copy",
                                       option_name("tokenizer")));
    }
    rules.tokenizer = text::Tokenizer::open(options.tokenizer);
    rules.vocabulary_size = rules.tokenizer->vocabulary_size();
    if (end_of_text < 0 && !rules.tokenizer->has_end_of_text()) {
      refuse_argument(
          fmt::format("{}: the vocabulary has no token for the end of a text (<|endoftext|>, "
                      "<|end_of_text|> or </s>); give the number of one with {}",
                      options.tokenizer.string(), option_name("end_of_text")));
    }
    if (end_of_text < 0) end_of_text = rules.tokenizer->end_of_text();
  }
  if (end_of_text >= rules.vocabulary_size) {
    refuse_argument(fmt::format("{} is not in the vocabulary of {} tokens",
                                option_set("end_of_text", std::to_string(end_of_text)),
                                rules.vocabulary_size));
  }
  rules.end_of_text = static_cast<uint32_t>(end_of_text);
  rules.replaces_bytes =
      rules.tokenizer && rules.tokenizer->fingerprint() != text::Tokenizer::bytes().fingerprint();
  return rules;
}

Corpus corpus_of(const fs::path& path, const TextOptions& options) {
  if (const bool* const is_json = found_before<bool>(options.group)) {
    return {.is_json = *is_json,
            .listing = files_to_take(options.group, [] { return ShardListing(); })};
  }
  return errors_only(path, [&] { return find_corpus(path, {.ending = options.ending}); });
}

class Text : public ListedSource {
 public:
  Text(const fs::path& path, const TextOptions& options)
      : Text(path, options, corpus_of(path, options)) {}

  Text(const fs::path& path, const TextOptions& options, Corpus corpus)
      : path_(path),
        options_(options),
        is_json_(corpus.is_json && !takes_json_as_text(options)),
        document_(document_of(options, is_json_)),
        rules_(rules_of(options, is_json_)),
        workers_([this] { return BlockTokens(rules_); }) {
    if (!rules_.tokens_field.empty() && !rules_.is_json) {
      refuse_argument(option_name("tokens_field") +
                      " gives the name of a JSON member, but the source has no .jsonl files; leave "
                      "this option out");
    }
    notes_ = std::move(corpus.listing.notes);
    const BlockRules block_rules{.document = document_,
                                 .is_json = is_json_,
                                 .block_bytes = options.block_bytes,
                                 .max_document_bytes = options.max_document_bytes,
                                 .needs_utf8 = !keeps_marks(),
                                 .place = {options.temporary_folder, options.cancel}};
    for (ShardSplit& listed : corpus.listing.splits) {
      if (listed.name == text::kTokenizer) {
        refuse_argument(
            "a split cannot have the name 'tokenizer', which the tokenizer has; rename the folder");
      }
      splits_.push_back(list_text_blocks(std::move(listed), block_rules));
      const TextSplit& split = splits_.back();
      SourceSplit info{.name = split.name,
                       .num_samples = std::ssize(split.blocks),
                       .num_bytes = split.num_bytes(),
                       .is_training = split.is_training};
      infos_.push_back(std::move(info));
      note_texts(split.name, split.files, keeps_marks() ? 0 : split.num_marks, notes_);
    }
    schema_ = text::token_schema(text::token_dtype(rules_.vocabulary_size));
    if (rules_.tokenizer) {
      if (std::string note = rules_.tokenizer->document_note(); !note.empty()) {
        notes_.push_back(std::move(note));
      }
      json_ = rules_.tokenizer->to_json();
      infos_.push_back(
          {.name = text::kTokenizer, .num_samples = 1, .num_bytes = std::ssize(json_)});
    }
  }

  Schema split_schema(size_t split) const override {
    return is_tokenizer(split) ? text::tokenizer_schema() : schema_;
  }
  std::vector<std::string> totals() const override {
    return {text::kNumDocumentsField, text::kNumTokensField, text::kTextBytesField,
            text::kNumEmptyField};
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    if (is_tokenizer(split)) return {{"kind", "text"}};
    return facts_of_files("text", path_, splits_.at(split).files.paths().size());
  }

  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> options = {
        {text::kVocabularyOption, std::to_string(rules_.vocabulary_size)},
        {text::kEndOfTextOption, std::to_string(rules_.end_of_text)},
        {"document", document_ == DocumentIs::line ? "line" : "file"},
        {"block_bytes", std::to_string(options_.block_bytes)}};
    if (rules_.tokenizer) options[text::kTokenizer] = rules_.tokenizer->fingerprint();
    if (rules_.is_json) {
      options["field"] = rules_.tokens_field.empty() ? rules_.text_field : rules_.tokens_field;
    }
    return options;
  }

  std::vector<fs::path> roots() const override { return root_if_folder(path_); }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return is_tokenizer(split) ? std::ssize(json_) : block_of(split, index).num_bytes;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    if (is_tokenizer(split)) {
      return {.name = text::kTokenizer,
              .num_bytes = std::ssize(json_),
              .content = fnv1a64(std::as_bytes(std::span(json_)))};
    }
    const TextBlock& block = block_of(split, index);
    SampleIdentity identity{.name = place_of(split, block, block.first_line),
                            .num_bytes = block.num_bytes,
                            .content = block.num_files};
    if (document_ == DocumentIs::line) return identity;
    for (uint32_t file = block.file; file < block.file + block.num_files; ++file) {
      const int64_t time = splits_[split].files.modified_ns(file);
      identity.modified = fnv1a64(std::as_bytes(std::span(&time, 1)),
                                  identity.modified == 0 ? kFnvBasis : identity.modified);
    }
    return identity;
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    if (is_tokenizer(split)) return std::nullopt;
    const TextBlock& block = block_of(split, index);
    return place_of(split, block, block.first_line);
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    if (is_tokenizer(split)) return {};
    const TextSplit& from = splits_.at(split);
    return inputs_of_texts(path_, from.files, from.file_crc32c);
  }

  void will_read(size_t split, int64_t index) const override {
    if (is_tokenizer(split)) return;
    const TextBlock& block = block_of(split, index);
    const TextFiles& files = splits_[split].files;
    if (document_ == DocumentIs::line) {
      files.will_read(block.file, block.offset, block.num_bytes);
      return;
    }
    for (uint32_t file = block.file; file < block.file + block.num_files; ++file) {
      files.will_read(file, 0, files.num_bytes(file));
    }
  }

  std::string describe(size_t split, int64_t index) const override {
    if (is_tokenizer(split)) return options_.tokenizer.string();
    const TextBlock& block = block_of(split, index);
    return describe_document(split, block.file, block.first_line);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    if (is_tokenizer(split)) return record.set_string(0, json_);
    BlockTokens& tokens = workers_.local();
    tokens.clear();
    const TextBlock& block = block_of(split, index);
    if (document_ == DocumentIs::line) {
      read_lines(split, block, tokens, buffers);
    } else {
      read_files(split, block, tokens, buffers);
    }
    report_replaced(tokens, buffers);
    set_fields(place_of(split, block, block.first_line), tokens, record, buffers);
  }

 private:
  // Programs and settings are texts, too.
  static bool takes_json_as_text(const TextOptions& options) {
    return options.document == "file" && plain_name(options.ending).ends_with(".json");
  }

  static DocumentIs document_of(const TextOptions& options, bool is_json) {
    if (!is_json) return options.document == "line" ? DocumentIs::line : DocumentIs::file;
    if (options.document == "file") {
      refuse_argument(option_set("document", "file") +
                      " does not work with JSON lines, because each line is a document");
    }
    return DocumentIs::line;
  }

  // Of texts whose every byte is a token.
  bool keeps_marks() const { return !rules_.is_json && !rules_.replaces_bytes; }

  bool is_tokenizer(size_t split) const { return split == splits_.size(); }
  const TextBlock& block_of(size_t split, int64_t index) const {
    return splits_.at(split).blocks.at(static_cast<size_t>(index));
  }

  // A block's id: "books.jsonl:1", or the name of its first file.
  std::string place_of(size_t split, const TextBlock& block, int64_t line) const {
    const std::string name = name_below(path_, splits_[split].files.paths()[block.file]);
    return place_in(split, block.file, name, line);
  }
  std::string place_in(size_t split, size_t file, const std::string& name, int64_t line) const {
    if (document_ == DocumentIs::file) return name;
    return splits_[split].layouts[file] == JsonLayout::lines ? fmt::format("{}:{}", name, line)
                                                             : fmt::format("{}[{}]", name, line);
  }
  std::string describe_document(size_t split, size_t file, int64_t line) const {
    return place_in(split, file, splits_[split].files.paths()[file].string(), line);
  }

  // `text`: has SIMDJSON_PADDING bytes behind it; null: the document is too long to be read.
  void add_document(size_t split, size_t file, int64_t line, const std::string_view* text,
                    int64_t num_bytes, BlockTokens& tokens, SampleBuffers& buffers) const {
    const int64_t num_replaced = tokens.num_replaced;
    try {
      if (text == nullptr) {
        throw error_of(ErrorCode::unsupported,
                       "the document has {} bytes, more than the limit of {} bytes; split the "
                       "document, or raise the limit with {}",
                       num_bytes, options_.max_document_bytes, option_name("max_document_bytes"));
      }
      if (document_ == DocumentIs::file) {
        const size_t head = std::min(text->size(), kContentHeadBytes);
        require_text(std::as_bytes(std::span(*text).first(head)),
                     {.needs_utf8 = rules_.replaces_bytes}, {});
      }
      tokens.add(*text);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io || is_out_of_memory(error)) throw;
      const std::string place = describe_document(split, file, line);
      if (buffers.bad_samples() == BadSamples::fail) {
        throw error.within({.path = place, .subject = ErrorSubject::sample})
            .with_remedy("to leave out such documents, give " + option_set("bad_samples", "skip"));
      }
      buffers.report({.reason = fmt::format("{}: {}", place, error.what()),
                      .action = kDocumentLeftOut,
                      .count = 1});
    }
    if (num_replaced == 0 && tokens.num_replaced > 0) {
      tokens.first_replaced = describe_document(split, file, line);
    }
  }

  void read_lines(size_t split, const TextBlock& block, BlockTokens& tokens,
                  SampleBuffers& buffers) const {
    if (block.num_bytes > options_.block_bytes + options_.max_document_bytes) {
      return add_document(split, block.file, block.first_line, nullptr, block.num_bytes, tokens,
                          buffers);
    }
    const auto length = static_cast<size_t>(block.num_bytes);
    const std::span<std::byte> bytes = buffers.bytes(length + simdjson::SIMDJSON_PADDING);
    splits_[split].files.read_at(block.file, block.offset, bytes.first(length));
    std::ranges::fill(bytes.subspan(length), std::byte{0});
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), length);
    const auto add = [&](std::string_view text, int64_t line) {
      const bool is_long = std::ssize(text) > options_.max_document_bytes;
      add_document(split, block.file, line, is_long ? nullptr : &text, std::ssize(text), tokens,
                   buffers);
    };
    if (splits_[split].layouts[block.file] != JsonLayout::lines) {
      int64_t element = block.first_line;
      JsonDocuments documents(JsonLayout::elements, [&](int64_t begin, int64_t end) {
        add(rest.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), element++);
      });
      documents.add(rest, 0);
      documents.finish(std::ssize(rest));
      return;
    }
    if (block.offset == 0 && !keeps_marks()) rest.remove_prefix(mark_length(rest));
    for (int64_t line = block.first_line; !rest.empty(); ++line) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (rules_.is_json && text.find_first_not_of(" \t") == std::string_view::npos) continue;
      add(text, line);
    }
  }

  void read_files(size_t split, const TextBlock& block, BlockTokens& tokens,
                  SampleBuffers& buffers) const {
    const TextFiles& files = splits_[split].files;
    for (size_t file = block.file; file < block.file + block.num_files; ++file) {
      const int64_t num_bytes = files.num_bytes(file);
      if (num_bytes > options_.max_document_bytes) {
        add_document(split, file, 1, nullptr, num_bytes, tokens, buffers);
        continue;
      }
      const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(num_bytes));
      files.read_at(file, 0, bytes);
      std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (const size_t mark = mark_length(text); mark > 0 && !keeps_marks()) {
        text.remove_prefix(mark);
        buffers.report({.reason = fmt::format("{} begins with a byte order mark",
                                              files.paths()[file].string()),
                        .action = kMarkLeftOut,
                        .count = 1});
      }
      add_document(split, file, 1, &text, num_bytes, tokens, buffers);
    }
  }

  // U+FFFD for bytes is no text that anybody has written.
  void report_replaced(const BlockTokens& tokens, SampleBuffers& buffers) const {
    if (tokens.num_replaced == 0) return;
    buffers.report(
        {.reason = fmt::format("{} of {} bytes are not UTF-8, the first in {}", tokens.num_replaced,
                               tokens.text_bytes, tokens.first_replaced),
         .action = kBytesReplaced,
         .count = tokens.num_replaced});
  }

  void set_fields(const std::string& id, const BlockTokens& tokens, RecordBuilder& record,
                  SampleBuffers& buffers) const {
    const int64_t num_tokens = std::ssize(tokens.ids);
    const int64_t num_documents = std::ssize(tokens.document_ends);
    if (schema_.fields[0].dtype == DType::u16) {
      const auto ids = new_array<uint16_t>(buffers, tokens.ids.size());
      std::ranges::copy(tokens.ids, ids.begin());
      set_array<uint16_t>(record, 0, ids, {num_tokens});
    } else {
      set_copy<uint32_t>(record, 0, tokens.ids, {num_tokens}, buffers);
    }
    set_copy<uint32_t>(record, 1, tokens.document_ends, {num_documents}, buffers);
    const auto set_number = [&](const char* name, int64_t value) {
      record.set_scalar(schema_.require(name), value);
    };
    set_number(text::kNumTokensField, num_tokens);
    set_number(text::kNumDocumentsField, num_documents);
    set_number(text::kTextBytesField, tokens.text_bytes);
    set_number(text::kNumEmptyField, tokens.num_empty);
    record.set_string(schema_.require("id"), buffers.text(id));
  }

  const fs::path path_;
  const TextOptions options_;
  const bool is_json_;
  const DocumentIs document_;
  const TokenRules rules_;
  std::string json_;  // of the tokenizer
  std::vector<TextSplit> splits_;
  mutable tbb::enumerable_thread_specific<BlockTokens> workers_;
};

}  // namespace

void validate(const TextOptions& options) {
  const bool is_ready = !options.tokens_field.empty();
  check_options(options);
  if (options.tokenizer.empty()) {
    if (!is_ready) {
      refuse_argument("a text source needs " + option_name("tokenizer") +
                      "; give a folder with vocab.json and merges.txt, a file tokenizer.json, or "
                      "the word 'bytes'");
    }
    if (options.vocabulary_size == 0 || options.end_of_text < 0) {
      refuse_argument(fmt::format("{} needs {}, or {} and {}", option_name("tokens_field"),
                                  option_name("tokenizer"), option_name("vocabulary_size"),
                                  option_name("end_of_text")));
    }
  } else if (options.vocabulary_size != 0) {
    refuse_argument(fmt::format("{0} is not needed, because {1} gives this number; leave out {0}",
                                option_name("vocabulary_size"), option_name("tokenizer")));
  }
}

std::unique_ptr<Source> open_text(const fs::path& path, const TextOptions& options) {
  const PlacesListed listed;
  validate(options);
  return std::make_unique<Text>(Place(path).path(), options);
}

FileListing text_files(const fs::path& path, const TextOptions& options) {
  const PlacesListed listed;
  validate(options);
  Corpus corpus = corpus_of(Place(path).path(), options);
  FileListing files = file_listing(std::move(corpus.listing));
  files.found = corpus.is_json;
  return files;
}

}  // namespace ffkit
