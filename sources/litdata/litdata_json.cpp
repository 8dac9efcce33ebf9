// Values of LitData's format "json" (streaming/serializers.py, _nested_loads()): a tag and what it
// says, all numbers little-endian. Older writers have JSON text, which begins with '[' or '{'.

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/make_error.h"
#include "litdata/litdata_format.h"
#include "rows/stored_values.h"

namespace ffkit {

void add_json_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void add_json_real(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    const std::string text = fmt::format("{}", value);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
  }
}

namespace {

enum class NestedTag : uint8_t {
  json,
  texts,
  integers,
  reals,
  flags,
  dictionary,
  records,
  text,
  integer,
  real,
  flag,
  none,
  record_none = 0x10,
  record_text,
  record_integer,
  record_real,
  record_flag,
};
constexpr uint8_t kFirstTextByte = 0x20;  // tags are below
// Keys of records are there once, and in JSON in each record.
constexpr size_t kMaxJsonBytes = 64 << 20;

class NestedReader {
 public:
  explicit NestedReader(std::span<const std::byte> bytes) : from_(bytes) {}

  std::string read() {
    add_value(0);
    from_.require_end();
    return std::move(out_);
  }

 private:
  // A value of each tag, in a list, takes a byte or more.
  uint32_t count(uint64_t bytes_each) {
    const auto count = from_.number<uint32_t>();
    if (count * bytes_each > from_.size()) {
      throw error_of(ErrorCode::corrupt, "the data are cut short: there must be {} items", count);
    }
    return count;
  }

  // Items with commas between, in brackets: "[]" or "{}".
  template <typename Add>
  void add_items(std::string_view brackets, size_t num_items, const Add& add) {
    out_ += brackets.front();
    for (size_t i = 0; i < num_items; ++i) {
      if (i > 0) out_ += ", ";
      add(i);
    }
    out_ += brackets.back();
  }

  std::string_view take_text() {
    const auto bytes = from_.take(from_.number<uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void add_text(std::string_view text) { add_json_text(text, out_); }
  void add_integer() { out_ += std::to_string(from_.number<int64_t>()); }
  void add_flag() { out_ += from_.number<uint8_t>() != 0 ? "true" : "false"; }

  void add_real() { add_json_real(from_.number<double>(), out_); }

  void add_value(int depth) {
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth) {
      throw error_of(ErrorCode::unsupported,
                     "the value has lists and dictionaries that are nested more than {} deep",
                     kMaxDepth);
    }
    const auto tag = from_.number<uint8_t>();
    switch (static_cast<NestedTag>(tag)) {
      case NestedTag::json:
        out_ += take_text();
        return;
      case NestedTag::texts:
        return add_items("[]", count(4), [&](size_t) { add_text(take_text()); });
      case NestedTag::integers:
        return add_items("[]", count(8), [&](size_t) { add_integer(); });
      case NestedTag::reals:
        return add_items("[]", count(8), [&](size_t) { add_real(); });
      case NestedTag::flags:
        return add_items("[]", count(1), [&](size_t) { add_flag(); });
      case NestedTag::text:
        return add_text(take_text());
      case NestedTag::integer:
        return add_integer();
      case NestedTag::real:
        return add_real();
      case NestedTag::flag:
        return add_flag();
      case NestedTag::none:
        out_ += "null";
        return;
      case NestedTag::dictionary:
        return add_items("{}", count(5), [&](size_t) {
          add_text(take_text());
          out_ += ": ";
          add_value(depth + 1);
        });
      case NestedTag::records:
        return add_records();
      default:
        throw error_of(ErrorCode::corrupt, "the data contain the unknown tag {}", tag);
    }
  }

  void add_records() {
    const auto num_rows = from_.number<uint32_t>();
    const uint32_t num_keys = count(4);
    std::vector<std::string_view> keys;
    keys.reserve(num_keys);
    while (keys.size() < num_keys) keys.push_back(take_text());
    if (num_keys == 0 || uint64_t{num_rows} * num_keys > from_.size()) {
      throw error_of(ErrorCode::corrupt, "the data are cut short: there must be {} items",
                     num_rows);
    }
    add_items("[]", num_rows, [&](size_t) {
      if (out_.size() > kMaxJsonBytes) {
        throw error_of(ErrorCode::unsupported,
                       "the value has more than {} bytes as JSON; remove the sample",
                       kMaxJsonBytes);
      }
      add_items("{}", keys.size(), [&](size_t i) {
        add_text(keys[i]);
        out_ += ": ";
        add_record_value();
      });
    });
  }

  void add_record_value() {
    const auto tag = from_.number<uint8_t>();
    switch (static_cast<NestedTag>(tag)) {
      case NestedTag::record_none:
        out_ += "null";
        return;
      case NestedTag::record_text:
        return add_text(take_text());
      case NestedTag::record_integer:
        return add_integer();
      case NestedTag::record_real:
        return add_real();
      case NestedTag::record_flag:
        return add_flag();
      default:
        throw error_of(ErrorCode::corrupt, "the data contain the unknown tag {}", tag);
    }
  }

  StoredBytes from_;
  std::string out_;
};

}  // namespace

std::string litdata_json(std::string_view bytes) {
  if (bytes.empty()) throw Error(ErrorCode::corrupt, "the value is empty, but must be JSON");
  if (static_cast<uint8_t>(bytes[0]) >= kFirstTextByte) return std::string(bytes);
  return NestedReader(std::as_bytes(std::span(bytes))).read();
}

}  // namespace ffkit
