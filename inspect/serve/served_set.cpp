#include "serve/served_set.h"

#include <algorithm>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/text/token_data.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "draw/sheet_results.h"
#include "format/schema/label_field.h"
#include "scenes/keyframe.h"

namespace ffkit::serve {
namespace {

constexpr size_t kMaxColumnBytes = size_t{512} << 20;

Column read_column(const Dataset& split, const Field& field) {
  if (field.type == FieldType::scalar) {
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
  if (RootResults::can_be_of(schema)) return "persons";
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
    throw error_of(ErrorCode::not_found, "the field '{}' has no column", field);
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

double number_in(const Column& column, int64_t record) {
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&column)) {
    return static_cast<double>((*whole)[static_cast<size_t>(record)]);
  }
  if (const auto* real = std::get_if<std::vector<double>>(&column)) {
    return (*real)[static_cast<size_t>(record)];
  }
  return 0;
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
    throw error_of(ErrorCode::not_found, "there is no record {}: the split '{}' has {}", record,
                   split.name(), last + 1);
  }
  return record;
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
                   "may be of the splits '{}' and '{}'; say which with --split", fitting[0],
                   fitting[1]);
  }
  if (fitting.empty() && first_problem) throw *first_problem;
  set.results_file = file.string();
}

}  // namespace ffkit::serve
