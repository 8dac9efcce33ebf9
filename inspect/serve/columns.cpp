#include "serve/columns.h"

#include <algorithm>

#include <ffkit/format/dtype_visitor.h>

#include "base/make_error.h"

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

}  // namespace ffkit::serve
