// ffinspect cat: one record, or one field of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/text/token_data.h>

#include "commands.h"
#include "data/data_sets.h"
#include "text/output.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kCatFooter =
    R"(With --json: one document with split, record and fields, and with class and class_name where there is a label. Fields look as in
  'ls --json'. Tensors have their values too, in row-major order. With --field, images and bytes are base64.

A picture in the dct code (printed as 'dct', with its size in bytes) is written as the JPEG file from which it was made.)";

struct CatOptions {
  Target target;
  int64_t record = 0;
  std::string field;
  int64_t document = -1;
  std::string output;
};

std::string record_text(const Schema& schema, const RecordView& record) {
  std::string text;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    text += fmt::format("{}: {}\n", escaped(schema.fields[i].name),
                        field_text(schema.fields[i], record.field(i), kValuesInLine));
  }
  return text;
}

Json record_json(const Dataset& dataset, const RecordView& record, const CatOptions& options) {
  const Schema& schema = dataset.schema();
  Json fields = Json::object();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    if (!options.field.empty() && field.name != options.field) continue;
    fields[field.name] = field_json(field, record.field(i),
                                    options.field.empty() ? Detail::values : Detail::content);
  }
  return record_document(dataset, options.record, record, std::move(fields));
}

// As a file.
std::span<const std::byte> image_of(const Dataset& dataset, const RecordView& record, size_t i,
                                    int64_t index, std::vector<std::byte>& jpeg) {
  try {
    return image_file(record.bytes(i), jpeg);
  } catch (const Error& error) {
    throw error.within({.path = dataset.path().string(), .record = index});
  }
}

void write_field(const Dataset& dataset, const RecordView& record, size_t i,
                 const CatOptions& options) {
  const Field& field = dataset.schema().fields[i];
  if (record.is_null(i)) {
    throw Error(ErrorCode::not_found, fmt::format("field '{}' is null", field.name),
                {.path = dataset.path().string(),
                 .record = options.record,
                 .subject = ErrorSubject::field,
                 .name = field.name});
  }
  if (field.type == FieldType::list) {
    throw CLI::ValidationError(
        "--field",
        fmt::format("field '{}' is a list; use --json, or ffinspect export", field.name));
  }
  if (field.type == FieldType::string) {
    write_output(options.output, std::string(record.string(i)) + "\n");
    return;
  }
  if (field.type == FieldType::scalar) {
    write_output(options.output, field_text(field, record.field(i)) + "\n");
    return;
  }
  if (options.output.empty() && stdout_is_terminal()) {
    throw CLI::ValidationError(
        "--field",
        fmt::format("field '{}' is binary; write it to a file with --output", field.name));
  }
  if (field.type == FieldType::image) {
    std::vector<std::byte> jpeg;
    write_output(options.output, image_of(dataset, record, i, options.record, jpeg));
    return;
  }
  write_output(options.output,
               field.type == FieldType::tensor ? record.tensor(i).data : record.raw(i));
}

// The text of a document of a token record, or its tokens where the data set has no tokenizer.
std::string document_text(const Dataset& dataset, const RecordView& record,
                          const CatOptions& options) {
  if (!text::is_token_schema(dataset.schema())) {
    throw CLI::ValidationError("--document", "the records have no documents; leave it out");
  }
  const text::TokenBlock block(record, dataset.schema());
  if (options.document >= block.num_documents()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("has {} documents, from number 0; there is no document {}",
                            block.num_documents(), options.document),
                {.path = dataset.path().string(), .record = options.record});
  }
  std::vector<uint32_t> ids = block.document(options.document);
  if (text::token_facts(dataset).tokenizer.empty()) return fmt::format("{}\n", fmt::join(ids, " "));
  ids.pop_back();  // end-of-text
  return text::stored_tokenizer(dataset.path()).decode(ids) + "\n";
}

int cat(const CatOptions& options) {
  const Dataset dataset = open_one_split(options.target);
  require_no_input(options.output, input_files(dataset, options.target));
  const Schema& schema = dataset.schema();
  const size_t field = options.field.empty() ? 0 : schema.require(options.field);
  std::vector<std::byte> bytes;
  dataset.read(options.record, bytes);
  const RecordView record(schema, bytes, dataset.name(options.record));
  if (options.document >= 0) {
    write_output(options.output, document_text(dataset, record, options));
  } else if (options.target.json) {
    write_output(options.output, json_text(record_json(dataset, record, options), 2));
  } else if (options.field.empty()) {
    write_output(options.output, record_text(schema, record));
  } else {
    write_field(dataset, record, field, options);
  }
  return 0;
}

}  // namespace

void add_cat_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CatOptions>();
  CLI::App* command =
      add_command(app, "cat", "Prints all fields of one record, or the content of one field",
                  options->target, kCatFooter);
  command->add_option("RECORD", options->record, "Number of the record in its split, from 0")
      ->required()
      ->option_text(" ");
  command
      ->add_option("--field", options->field,
                   "Prints only this field. Pictures are printed as files, bytes as they are "
                   "stored, and tensors as little-endian numbers in row-major order")
      ->option_text("NAME");
  command
      ->add_option(
          "--document", options->document,
          "Prints only this document of a block of tokens. The first document has number 0. If the "
          "data set has no tokenizer, the tokens of the document are printed instead of its text")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--field", "--json")
      ->option_text("N");
  command
      ->add_option("-o,--output", options->output, "Writes to this file instead of standard output")
      ->option_text("FILE");
  command->callback([options, &action] { action = [options] { return cat(*options); }; });
}

}  // namespace ffkit
