#include "serve/served_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/text/token_data.h>
#include <ffkit/text/tokenizer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "draw/own_sheets.h"
#include "format/schema/label_field.h"

namespace ffkit::serve {
namespace {

constexpr size_t kMaxColumnBytes = size_t{512} << 20;

Column read_column(const Dataset& split, const Field& field) {
  if (field.type == FieldType::scalar) {
    if (field.dtype == DType::u64) return split.uint_column(field.name);
    if (is_integer(field.dtype)) return split.int_column(field.name);
    return split.float_column(field.name);
  }
  TextColumn texts;
  texts.ends.reserve(static_cast<size_t>(split.num_records()));
  // Shard by shard: a string each would take several times the memory.
  for (int64_t i = 0; i < split.num_shards(); ++i) {
    for (const std::string& text : split.shard(i).string_column(field.name)) {
      texts.bytes += text;
      texts.ends.push_back(texts.bytes.size());
    }
  }
  return texts;
}

size_t num_bytes_of(const Column& column) {
  return std::visit(
      [](const auto& values) -> size_t {
        if constexpr (requires { values.ends; }) {
          return values.bytes.size() + 8 * values.ends.size();
        } else {
          return 8 * values.size();
        }
      },
      column);
}

std::string_view kind_of(const Schema& schema, bool has_pictures) {
  if (has_scenes(schema)) return "scenes";
  if (has_roots(schema)) return "persons";
  if (text::is_token_schema(schema)) return "tokens";
  return has_pictures ? "pictures" : "records";
}

}  // namespace

std::shared_ptr<const Column> Columns::get(const std::string& field) {
  // Held while it is read: others that want the same need not read it, too.
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(kept_, field, &Kept::field);
  if (at != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, at);
    return at->column;
  }
  const Schema& schema = split_.schema();
  const Field& found = schema.fields[schema.require(field)];
  if (!found.column) {
    throw error_of(ErrorCode::not_found, "the field '{}' is not a column", field);
  }
  auto column = std::make_shared<const Column>(read_column(split_, found));
  kept_.push_front({field, column, num_bytes_of(*column)});
  size_t total = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    total += kept->num_bytes;
    const bool goes = total > kMaxColumnBytes && kept != kept_.begin();
    kept = goes ? kept_.erase(kept) : std::next(kept);
  }
  return column;
}

std::shared_ptr<const Column> Columns::get_if_kept(const std::string& field) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;  // one is being read
  const auto at = std::ranges::find(kept_, field, &Kept::field);
  return at == kept_.end() ? nullptr : at->column;
}

int64_t label_in(const Column& column, int64_t record) {
  const auto i = static_cast<size_t>(record);
  const auto* labels = std::get_if<std::vector<int64_t>>(&column);
  return labels != nullptr ? (*labels)[i]
                           : static_cast<int64_t>(std::get<std::vector<uint64_t>>(column)[i]);
}

ServedSplit::ServedSplit(const Dataset& chosen)
    : whole_(chosen.whole_split()), chosen_(chosen), columns_(std::make_shared<Columns>(whole_)) {
  const Schema& schema = whole_.schema();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    if (field.type == FieldType::image) picture_fields_.push_back(i);
    const bool names = field.type == FieldType::string && field.column;
    if (names && (id_field_ < 0 || field.name == "id")) id_field_ = static_cast<int>(i);
  }
  kind_ = kind_of(schema, !picture_fields_.empty());
  const auto label = find_label_field(schema);
  has_labels_ = label && schema.fields[*label].column;
}

bool ServedSplit::has_marks() const {
  const auto names = {"boxes", "joints", "keypoints"};
  return std::ranges::any_of(names, [&](const char* name) { return schema().index_of(name) >= 0; });
}

const ServedSplit& ServedSet::first_split() const {
  const auto has_results = [](const ServedSplit& split) { return split.findings != nullptr; };
  const auto is_shown = [](const ServedSplit& split) { return split.kind() != "records"; };
  auto at = std::ranges::find_if(splits, has_results);
  if (at == splits.end()) at = std::ranges::find_if(splits, is_shown);
  return at == splits.end() ? splits.front() : *at;
}

const ServedSplit& ServedSet::split_of(const http::Request& request) const {
  const std::string name = request.text("split");
  const auto at = std::ranges::find(splits, name, &ServedSplit::name);
  if (at == splits.end()) {
    throw error_of(ErrorCode::not_found, "there is no split '{}'", printable(name));
  }
  return *at;
}

int64_t ServedSet::record_of(const ServedSplit& split, const http::Request& request) {
  const int64_t last = split.whole().num_records() - 1;
  const int64_t record = request.required_number("record", 0, std::numeric_limits<int64_t>::max());
  if (record > last) {
    throw error_of(ErrorCode::not_found, "there is no record {}; the split '{}' has {} records",
                   record, split.name(), last + 1);
  }
  return record;
}

std::optional<int64_t> stored_bytes_of(const ServedSplit& split, int64_t record) {
  try {
    return split.whole().locate(record).record.stored_bytes;
  } catch (const Error&) {  // reading the record says what is wrong
    return std::nullopt;
  }
}

size_t field_of(const ServedSplit& split, const http::Request& request, const std::string& name,
                std::optional<size_t> otherwise) {
  const std::string field = request.text(name);
  if (field.empty() && otherwise) return *otherwise;
  if (field.empty()) {
    throw error_of(ErrorCode::invalid_argument, "the split '{}' has no field of pictures",
                   split.name());
  }
  return split.schema().require(field);
}

void read_results(ServedSet& set, const std::filesystem::path& file) {
  std::vector<std::string> fitting;
  std::optional<Error> first_problem;
  for (ServedSplit& split : set.splits) {
    try {
      split.findings = read_findings(split.whole(), file);
      fitting.push_back(split.name());
    } catch (const Error& error) {
      if (!first_problem) first_problem = error;
    }
  }
  if (fitting.size() > 1) {
    throw error_at(file, ErrorCode::invalid_argument,
                   "fits the splits '{}' and '{}'; choose one with --split", fitting[0],
                   fitting[1]);
  }
  if (fitting.empty() && first_problem) throw *first_problem;
  set.results_file = file.string();
}

void read_other_results(ServedSet& set, const std::filesystem::path& file) {
  const auto at = std::ranges::find_if(
      set.splits, [](const ServedSplit& split) { return split.findings != nullptr; });
  if (at->findings->kind() != "classes" || !ClassResults::can_be(file)) {
    throw error_at(
        file, ErrorCode::invalid_argument,
        "cannot be compared; both files must have predicted classes, as lines with record, "
        "class and score");
  }
  at->others = read_findings(at->whole(), file);
  set.others_file = file.string();
}

namespace {

constexpr size_t kLongestCharacter = 4;  // bytes of UTF-8

bool has_text(const Field& field) {
  return field.type == FieldType::string ||
         (field.type == FieldType::list && field.item == FieldType::string);
}

// How many of the last bytes begin a character that does not end there.
size_t num_open_bytes(std::string_view text) {
  for (size_t n = 1; n < kLongestCharacter && n <= text.size(); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > n ? n : 0;
  }
  return 0;
}

}  // namespace

std::vector<std::string> fields_with_texts(const ServedSplit& split) {
  std::vector<std::string> names;
  for (const Field& field : split.schema().fields) {
    if (has_text(field) && !field.column) names.push_back(field.name);
  }
  if (split.kind() == "tokens") names.emplace_back("tokens");
  return names;
}

std::vector<std::string> texts_inside(const ServedSplit& split, int64_t record,
                                      const text::Tokenizer* tokenizer) {
  thread_local std::vector<std::byte> bytes;
  split.whole().read(record, bytes);
  const RecordView view(split.schema(), bytes, split.whole().name(record));
  std::vector<std::string> texts;
  for (size_t i = 0; i < split.schema().fields.size(); ++i) {
    const Field& field = split.schema().fields[i];
    if (!has_text(field) || view.is_null(i)) continue;
    if (field.type == FieldType::string) {
      texts.emplace_back(view.string(i));
    } else {
      const ListView list = view.field(i).list();
      for (size_t k = 0; k < list.size(); ++k) texts.emplace_back(list.string(k));
    }
  }
  if (split.kind() == "tokens" && tokenizer != nullptr) {
    const text::TokenBlock block(view, split.schema());
    for (int64_t d = 0; d < block.num_documents(); ++d) {
      texts.push_back(tokenizer->decode(block.document(d)));
    }
  }
  return texts;
}

std::vector<TokenPiece> token_pieces(const std::vector<uint32_t>& ids,
                                     const text::Tokenizer& tokenizer) {
  std::vector<TokenPiece> pieces;
  TokenPiece open;
  for (const uint32_t id : ids) {
    open.text += tokenizer.decode(std::array{id});
    ++open.num_tokens;
    if (num_open_bytes(open.text) > 0) continue;
    open.text = utf8_of(open.text);
    pieces.push_back(std::exchange(open, {}));
  }
  if (open.num_tokens > 0) {
    open.text = utf8_of(open.text);
    pieces.push_back(std::move(open));
  }
  return pieces;
}

}  // namespace ffkit::serve
