#include <ffkit/base/option_names.h>
#include <ffkit/text/token_data.h>

#include "base/make_error.h"
#include "base/number_text.h"

namespace ffkit::text {
namespace {

namespace fs = std::filesystem;

// An option of the manifest that is a number; -1: it is missing or none.
int64_t number_option(const Manifest& manifest, const char* name) {
  const auto found = manifest.options.find(name);
  return found == manifest.options.end() ? -1 : number_of_text<int64_t>(found->second).value_or(-1);
}

// A tensor of one dimension, and of `dtype` where it is given; aligned to its numbers, as all
// fields are.
TensorView vector_field(const RecordView& record, const Schema& schema, const char* name,
                        DType dtype) {
  TensorView view = record.tensor(schema.require(name));
  if (view.shape.size() != 1 || view.dtype != dtype) {
    throw error_of(ErrorCode::corrupt, "field '{}' is not a tensor of type {} with one dimension",
                   name, to_string(dtype));
  }
  return view;
}

}  // namespace

DType token_dtype(int64_t vocabulary_size) {
  return vocabulary_size <= 65536 ? DType::u16 : DType::u32;
}

Schema token_schema(DType dtype) {
  const auto column = [](const char* name) {
    return Field{.name = name, .type = FieldType::scalar, .dtype = DType::i64, .column = true};
  };
  return {{{.name = kTokensField, .type = FieldType::tensor, .dtype = dtype},
           {.name = kDocumentEndsField, .type = FieldType::tensor, .dtype = DType::u32},
           column(kNumTokensField),
           column(kNumDocumentsField),
           column(kTextBytesField),
           column(kNumEmptyField),
           {.name = "id", .type = FieldType::string, .column = true}}};
}

Schema tokenizer_schema() {
  return {{{.name = kTokenizer, .type = FieldType::string}}};
}

bool is_token_schema(const Schema& schema) {
  const int tokens = schema.index_of(kTokensField);
  return tokens >= 0 && token_schema(schema.fields[tokens].dtype).difference(schema).empty();
}

TokenFacts token_facts(const Dataset& split) {
  const Manifest& manifest = split.manifest();
  const int64_t size = number_option(manifest, kVocabularyOption);
  const int64_t end_of_text = number_option(manifest, kEndOfTextOption);
  if (!is_token_schema(split.schema()) || size < 1 || end_of_text < 0 || end_of_text >= size) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument,
                        "this is not a data set of tokens with a known vocabulary; make such a "
                        "data set with 'ffconvert text'");
  }
  TokenFacts facts{.vocabulary_size = size, .end_of_text = static_cast<uint32_t>(end_of_text)};
  const auto tokenizer = manifest.options.find(kTokenizer);
  if (tokenizer != manifest.options.end()) facts.tokenizer = tokenizer->second;
  return facts;
}

Tokenizer stored_tokenizer(const fs::path& data) {
  // (Not parent_path() of "DATA/train/", which is DATA/train. A store knows no "..".)
  const fs::path split_folder = data.has_filename() ? data : data.parent_path();
  const fs::path above = is_local(data) ? data / ".." : split_folder.parent_path();
  const fs::path folder = is_split_folder(data) ? above : data;
  if (!is_split_folder(folder / kTokenizer)) {
    throw Error(ErrorCode::not_found,
                "the data set has no tokenizer, because it was converted from ready tokens; "
                "convert it again with " +
                    option_name("tokenizer"),
                {.path = data.string(), .subject = ErrorSubject::split, .name = kTokenizer});
  }
  const Dataset split = Dataset::open(folder, kTokenizer);
  std::vector<std::byte> bytes;
  split.read(0, bytes);
  const RecordView record(split.schema(), bytes, split.name(0));
  Tokenizer tokenizer =
      Tokenizer::from_json(record.string(split.schema().require(kTokenizer)), folder / kTokenizer);
  const auto& options = split.manifest().options;
  const auto stored = options.find(kTokenizer);
  if (stored != options.end() && stored->second != tokenizer.fingerprint()) {
    throw error_at(folder / kTokenizer, ErrorCode::corrupt,
                   "the fingerprint is {}, but the manifest has {}; convert the data set again",
                   tokenizer.fingerprint(), stored->second);
  }
  return tokenizer;
}

TokenBlock::TokenBlock(const RecordView& record, const Schema& schema) {
  dtype_ = schema.fields[schema.require(kTokensField)].dtype;
  const TensorView tokens = vector_field(record, schema, kTokensField, dtype_);
  const TensorView ends = vector_field(record, schema, kDocumentEndsField, DType::u32);
  tokens_ = tokens.data.data();
  num_tokens_ = tokens.shape[0];
  ends_ = {reinterpret_cast<const uint32_t*>(ends.data.data()), static_cast<size_t>(ends.shape[0])};
  uint32_t begin = 0;
  for (const uint32_t end : ends_) {
    if (end <= begin) begin = UINT32_MAX;
    if (begin == UINT32_MAX) break;
    begin = end;
  }
  if (begin != static_cast<uint64_t>(num_tokens_)) {
    throw error_of(ErrorCode::corrupt, "the documents do not add up to the {} tokens of the block",
                   num_tokens_);
  }
}

std::vector<uint32_t> TokenBlock::document(int64_t d) const {
  std::vector<uint32_t> ids;
  for (int64_t i = begin(d); i < end(d); ++i) {
    ids.push_back(dtype_ == DType::u16 ? static_cast<const uint16_t*>(tokens_)[i]
                                       : static_cast<const uint32_t*>(tokens_)[i]);
  }
  return ids;
}

}  // namespace ffkit::text
