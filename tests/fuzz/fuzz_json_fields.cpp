// JSON lines of any bytes: the first says what the fields are, and all become records that can be
// read back, or Errors.
#include <simdjson.h>

#include <ffkit/format/record.h>

#include "sources/jsonl/json_fields.h"
#include "touch.h"

namespace {

struct Fields {
  std::vector<ffkit::JsonField> list;
  ffkit::Schema schema;
};

Fields fields_of(const simdjson::dom::object& object) {
  Fields fields{.list = ffkit::json_fields(object, {.tokens = ffkit::DType::u16}), .schema = {}};
  for (const ffkit::JsonField& field : fields.list) {
    // Null and [] do not tell; the converter goes on to other lines.
    if (!field.is_known()) {
      throw ffkit::Error(ffkit::ErrorCode::invalid_argument, "unknown");
    }
    fields.schema.fields.push_back(field.field());
  }
  return fields;
}

void require_readable(const ffkit::Schema& schema, std::span<const std::byte> record) {
  try {
    const ffkit::RecordView view(schema, record);
    for (size_t i = 0; i < schema.fields.size(); ++i) ffkit::fuzzing::touch(view.field(i).raw());
  } catch (const ffkit::Error&) {
    std::abort();
  }
}

void read_line(std::string_view line, std::optional<Fields>& fields) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(line).get_object().get(object) != simdjson::SUCCESS) return;
  if (!fields) fields = fields_of(object);
  std::vector<ffkit::SeenKinds> seen(fields->list.size());
  ffkit::see_json_kinds(fields->list, object, seen);
  ffkit::SampleBuffers buffers;
  ffkit::RecordBuilder builder(fields->schema);
  ffkit::set_json_fields(builder, fields->list, object, buffers);
  std::vector<std::byte> record;
  builder.encode(record);
  require_readable(fields->schema, record);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<Fields> fields;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ffkit::fuzzing::attempt([&] { read_line(text.substr(0, end), fields); });
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
