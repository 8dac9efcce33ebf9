#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/make_error.h"
#include "base/printable.h"
#include "content_kind.h"
#include "schema/npy_header.h"
#include "v1/v1_file.h"

namespace ffkit {
namespace {

using Kind = Pickle::Kind;
using Ref = Pickle::Ref;

// A value of a pickle, as a field takes it.
struct Value {
  Field field;  // without its name
  bool is_null = false;
  uint64_t bits = 0;                 // of a scalar
  std::span<const std::byte> bytes;  // of a picture's file, a text, bytes; of pixels and numbers
  std::vector<int64_t> shape = {};   // of a tensor
  std::string header = {};           // of pixels: what a PPM or PGM begins with
};

Value scalar(DType dtype, uint64_t bits) {
  return {.field = {.type = FieldType::scalar, .dtype = dtype, .column = true}, .bits = bits};
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsupported, what);
}

// Reads the values of one pickle.
class Values {
 public:
  explicit Values(const Pickle& pickle) : pickle_(pickle) {}

  static Value of_array(DType dtype, std::vector<int64_t> shape,
                        std::span<const std::byte> numbers) {
    auto count = static_cast<int64_t>(size_of(dtype));
    for (const int64_t side : shape) {
      if (side < 0 || __builtin_mul_overflow(count, side, &count)) {
        refuse("an array has an impossible shape");
      }
    }
    if (count != std::ssize(numbers)) {
      throw error_of(ErrorCode::corrupt, "an array has {} bytes instead of {}", numbers.size(),
                     count);
    }
    if (dtype == DType::u8 && shape.size() == 3 && shape[2] == 3 && count > 0) {
      return pixels(shape[1], shape[0], 3, numbers);
    }
    return {.field = {.type = FieldType::tensor, .dtype = dtype},
            .bytes = numbers,
            .shape = std::move(shape)};
  }

  Value of(Ref ref) const {
    switch (pickle_.kind(ref)) {
      case Kind::none:
        return {.field = {}, .is_null = true};
      case Kind::boolean:
        return scalar(DType::u8, static_cast<uint64_t>(pickle_.boolean(ref, "a bool")));
      case Kind::integer:
        return scalar(DType::i64, static_cast<uint64_t>(pickle_.integer(ref, "a number")));
      case Kind::real:
        return scalar(DType::f64, std::bit_cast<uint64_t>(pickle_.real(ref, "a number")));
      case Kind::text: {
        const std::string_view text = pickle_.text(ref, "a text");
        const auto bytes = std::as_bytes(std::span(text));
        if (!is_utf8(text)) return of_bytes(bytes);  // Python 2's str
        return {.field = {.type = FieldType::string}, .bytes = bytes};
      }
      case Kind::bytes:
        return of_bytes(pickle_.bytes(ref, "bytes"));
      case Kind::call:
        return of_call(ref);
      case Kind::large:
        refuse("an integer of more than 64 bits cannot be a value of a field");
      default:
        refuse("a list or dict inside the record cannot be a value of a field");
    }
  }

 private:
  static Value of_bytes(std::span<const std::byte> bytes) {
    return {.field = {.type = begins_as_picture(bytes) ? FieldType::image : FieldType::bytes},
            .bytes = bytes};
  }

  Value of_call(Ref ref) const {
    const std::vector<Ref>& items = pickle_.items(ref, "an object");
    const std::string name = pickle_.global_name(items[0]);
    const bool is_pil =
        name.starts_with("PIL.") && (name.ends_with("Image") || name.ends_with("ImageFile"));
    if (is_pil && items.size() == 3) return of_pil(items[2]);
    if (name.starts_with("numpy.") && name.ends_with("multiarray.scalar")) {
      return of_scalar(arguments(items, 2));
    }
    if (name.starts_with("numpy.") && name.ends_with("multiarray._reconstruct") &&
        items.size() == 3) {
      const std::vector<Ref>& state = pickle_.items(items[2], "an array's state");
      if (state.size() != 5) refuse("a NumPy array has an unknown form");
      return of_array(state[1], state[2], pickle_.boolean(state[3], "the order of an array"),
                      state[4]);
    }
    if (name.starts_with("numpy.") && name.ends_with("_frombuffer")) {
      const std::vector<Ref>& given = arguments(items, 4);
      return of_array(given[2], given[1], pickle_.text(given[3], "the order of an array") == "F",
                      given[0]);
    }
    refuse(fmt::format("an object of {} is not a plain value",
                       name.empty() ? "an unknown kind" : printable(name)));
  }

  const std::vector<Ref>& arguments(const std::vector<Ref>& call, size_t count) const {
    const std::vector<Ref>& given = pickle_.items(call[1], "arguments");
    if (given.size() < count) refuse("a NumPy value has an unknown form");
    return given;
  }

  // Pickles of PIL have info, mode, size, palette and pixels.
  Value of_pil(Ref state) const {
    const std::vector<Ref>& parts = pickle_.items(state, "a picture's state");
    if (parts.size() < 5) refuse("a PIL picture has an unknown form");
    const std::string_view mode = pickle_.text(parts[1], "a picture's mode");
    if (mode != "RGB" && mode != "L") {
      refuse(
          fmt::format("a PIL picture has the mode {:.20}, expected RGB or L; write the records "
                      "with picture.convert('RGB')",
                      printable(mode)));
    }
    const std::vector<Ref>& size = pickle_.items(parts[2], "a picture's size");
    if (size.size() != 2) refuse("a PIL picture has no size");
    return pixels(pickle_.integer(size[0], "a width"), pickle_.integer(size[1], "a height"),
                  mode == "RGB" ? 3 : 1, pickle_.bytes(parts[4], "a picture's pixels"));
  }

  static Value pixels(int64_t width, int64_t height, int64_t channels,
                      std::span<const std::byte> bytes) {
    int64_t count = 0;
    if (width <= 0 || height <= 0 || __builtin_mul_overflow(width, height, &count) ||
        __builtin_mul_overflow(count, channels, &count) || count != std::ssize(bytes)) {
      throw error_of(ErrorCode::corrupt, "a picture of {} x {} pixels has {} bytes", width, height,
                     bytes.size());
    }
    return {.field = {.type = FieldType::image},
            .bytes = bytes,
            .header = fmt::format("P{}\n{} {}\n255\n", channels == 3 ? 6 : 5, width, height)};
  }

  DType dtype_of(Ref ref) const {
    // A call of numpy.dtype("f4", ...), with a state whose second part is the order of bytes.
    if (pickle_.kind(ref) == Kind::call) {
      const std::vector<Ref>& items = pickle_.items(ref, "a dtype");
      if (pickle_.global_name(items[0]) == "numpy.dtype") {
        const std::string_view name = pickle_.text(arguments(items, 1)[0], "a dtype");
        const bool is_big =
            items.size() == 3 &&
            pickle_.text(pickle_.items(items[2], "a dtype's state").at(1), "an order") == ">";
        const char order = is_big ? '>' : name == "b1" ? '|' : '<';
        return dtype_of_numpy(fmt::format("{}{:.20}", order, printable(name)));
      }
    }
    refuse("a NumPy dtype has an unknown form");
  }

  Value of_scalar(const std::vector<Ref>& given) const {
    const DType dtype = dtype_of(given[0]);
    const std::span<const std::byte> bytes = pickle_.bytes(given[1], "a number");
    if (bytes.size() != size_of(dtype))
      refuse("the length of a NumPy number does not match its type");
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), bytes.size());
    return scalar_of(dtype, bits);
  }

  // Whole numbers are what Python's are: labels come as either.
  static Value scalar_of(DType dtype, uint64_t bits) {
    const auto whole = [](auto number) {
      return scalar(DType::i64, static_cast<uint64_t>(int64_t{number}));
    };
    switch (dtype) {
      case DType::i8:
        return whole(static_cast<int8_t>(bits));
      case DType::i16:
        return whole(static_cast<int16_t>(bits));
      case DType::i32:
        return whole(static_cast<int32_t>(bits));
      case DType::u8:
      case DType::u16:
      case DType::u32:
      case DType::i64:
        return scalar(DType::i64, bits);
      default:
        return scalar(dtype, bits);
    }
  }

  Value of_array(Ref shape_ref, Ref dtype_ref, bool is_fortran, Ref data) const {
    std::vector<int64_t> shape;
    for (const Ref side : pickle_.items(shape_ref, "an array's shape")) {
      shape.push_back(pickle_.integer(side, "a side of an array"));
    }
    if (is_fortran && shape.size() > 1) refuse("an array is in Fortran order");
    return of_array(dtype_of(dtype_ref), std::move(shape),
                    pickle_.bytes(data, "an array's numbers"));
  }

  const Pickle& pickle_;
};

// The values of a record, with the keys of a dict.
struct Parsed {
  std::vector<Value> values;
  std::vector<std::string> keys;
  bool is_container = true;
  bool is_bytes_and_label = false;  // ImageNet's as HFAiLab writes it, whatever the bytes are
};

Parsed parse(std::span<const std::byte> stored, Pickle& pickle) {
  Parsed parsed;
  if (content_kind(stored) == ContentKind::numpy) {
    NpyHeader npy = read_npy_header(stored);
    parsed.values = {
        Values::of_array(npy.dtype, std::move(npy.shape), stored.subspan(npy.data_offset))};
    parsed.is_container = false;
    return parsed;
  }
  pickle.parse(stored, Pickle::Objects::as_values);
  const Ref root = pickle.root();
  std::vector<Ref> refs = {root};
  if (pickle.kind(root) == Kind::dict) {
    refs.clear();
    for (const auto& [key, value] : pickle.entries(root, "the record")) {
      if (pickle.kind(key) != Kind::text) refuse("the dict has a key that is not text");
      parsed.keys.emplace_back(pickle.text(key, "a key"));
      refs.push_back(value);
    }
  } else if (pickle.kind(root) == Kind::tuple || pickle.kind(root) == Kind::list) {
    refs = pickle.items(root, "the record");
    parsed.is_bytes_and_label = refs.size() == 2 && pickle.kind(refs[0]) == Kind::bytes &&
                                pickle.kind(refs[1]) == Kind::integer;
  } else {
    parsed.is_container = false;
  }
  for (const Ref ref : refs) parsed.values.push_back(Values(pickle).of(ref));
  return parsed;
}

// Of the values of a tuple: what they are as a rule, else by their place.
std::string name_of(const Value& value, size_t place, const Schema& before) {
  const char* usual = value.field.type == FieldType::image    ? "image"
                      : value.field.type == FieldType::string ? "text"
                                                              : "";
  if (value.field.type == FieldType::scalar && value.field.dtype == DType::i64) usual = "label";
  if (*usual != '\0' && before.index_of(usual) < 0) return usual;
  return fmt::format("value_{}", place);
}

V1Payload payload_of(const Parsed& parsed) {
  if (parsed.is_bytes_and_label) return imagenet_v1_payload();
  V1Payload payload{.kind = V1Payload::Kind::values,
                    .schema = {},
                    .keys = parsed.keys,
                    .is_container = parsed.is_container};
  for (size_t i = 0; i < parsed.values.size(); ++i) {
    const Value& value = parsed.values[i];
    if (value.is_null) refuse("a value is None, so its type is unknown");
    Field field = value.field;
    field.name = parsed.keys.empty() ? name_of(value, i, payload.schema) : parsed.keys[i];
    payload.schema.fields.push_back(std::move(field));
  }
  validate(payload.schema);
  return payload;
}

// Why the values of a record are none of fields, and what it is; empty of bytes that nothing tells.
std::string why_not(std::span<const std::byte> stored, const Error& error) {
  const std::string_view text(reinterpret_cast<const char*>(stored.data()), stored.size());
  const auto begins = [&](const char* with) { return text.find_first_of(with) == 0; };
  const bool is_old = text.starts_with("\x80\x02") ||
                      (begins("(]}cIL") && text.find("p0\n") < text.size()) ||
                      (begins("(]}") && text.find(std::string_view("q\0", 2)) < text.size());
  if (is_old && text.ends_with('.')) {
    return "a pickle of protocol 2 or older, with values that cannot be read; write the records "
           "with pickle.dumps(record, 4)";
  }
  const bool is_json = (begins("{") && text.ends_with('}')) || (begins("[") && text.ends_with(']'));
  if (is_json && is_utf8(text)) {
    return "a JSON text; in Python, ffkit.convert.from_iterable((json.loads(row['data']) for row "
           "in ffkit.Dataset(SRC)), DST) makes fields of its members";
  }
  const ContentKind kind = content_kind(stored);
  if (kind == ContentKind::pickle || kind == ContentKind::numpy) return error.message();
  return kind == ContentKind::unknown || kind == ContentKind::empty ? "" : content_name(kind);
}

constexpr EnumName<FieldType> kValueNames[] = {{FieldType::image, "a picture"},
                                               {FieldType::string, "a text"},
                                               {FieldType::scalar, "a number"},
                                               {FieldType::tensor, "an array"},
                                               {FieldType::bytes, "bytes"}};

}  // namespace

bool V1Payload::operator==(const V1Payload& other) const {
  return kind == other.kind && keys == other.keys && is_container == other.is_container &&
         schema.difference(other.schema).empty();
}

std::string V1Payload::text() const {
  if (kind == Kind::raw) return "bytes";
  if (kind == Kind::picture) return "pictures";
  std::string names;
  for (const Field& field : schema.fields) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  }
  return fmt::format("pickles of {}", names);
}

V1Payload raw_v1_payload() {
  return {.kind = V1Payload::Kind::raw, .schema = {{{.name = "data", .type = FieldType::bytes}}}};
}

V1Payload imagenet_v1_payload() {
  return {.kind = V1Payload::Kind::values,
          .schema = {
              {{.name = "image", .type = FieldType::image},
               {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}}};
}

V1Payload find_v1_payload(std::span<const std::byte> stored, Pickle& pickle) {
  if (begins_as_picture(stored)) {
    return {.kind = V1Payload::Kind::picture,
            .schema = {{{.name = "image", .type = FieldType::image}}}};
  }
  try {
    return payload_of(parse(stored, pickle));
  } catch (const Error& error) {
    V1Payload raw = raw_v1_payload();
    raw.why_raw = why_not(stored, error);
    return raw;
  }
}

int64_t v1_overhead(const V1Payload& payload) {
  constexpr int64_t kOfTwoFields = 64;  // the field table and padding
  constexpr int64_t kOfField = 384;     // and a tensor's shape, a picture's header
  return payload == imagenet_v1_payload() || payload.kind == V1Payload::Kind::raw
             ? kOfTwoFields
             : kOfTwoFields + kOfField * std::ssize(payload.schema.fields);
}

void set_v1_fields(const V1Payload& payload, std::span<const std::byte> stored, Pickle& pickle,
                   RecordBuilder& builder, V1Values& values) {
  if (payload.kind == V1Payload::Kind::picture && !begins_as_picture(stored)) {
    throw Error(ErrorCode::corrupt, "the record is not a picture, but the others are");
  }
  if (payload.kind != V1Payload::Kind::values) return builder.set_bytes(0, stored);
  values.pictures.clear();
  Parsed parsed = [&] {
    try {
      return parse(stored, pickle);
    } catch (const Error& error) {
      const std::string why = why_not(stored, error);
      throw error.with_message(fmt::format("the record does not match the others, which are {}: {}",
                                           payload.text(), why.empty() ? error.message() : why));
    }
  }();
  const std::vector<Field>& fields = payload.schema.fields;
  const auto differs = [&](const std::string& how) {
    throw error_of(ErrorCode::corrupt, "the record {}, but the others are {}", how, payload.text());
  };
  if (parsed.is_container != payload.is_container || parsed.values.size() != fields.size() ||
      parsed.keys.empty() != payload.keys.empty()) {
    differs(fmt::format("is a pickle of {} values", parsed.values.size()));
  }
  const bool is_bytes = payload == imagenet_v1_payload() && parsed.is_bytes_and_label;
  values.pictures.reserve(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    size_t field = i;
    if (!payload.keys.empty()) {
      const auto found = std::ranges::find(payload.keys, parsed.keys[i]);
      if (found == payload.keys.end()) {
        differs(fmt::format("has a value '{}'", printable(parsed.keys[i])));
      }
      field = static_cast<size_t>(found - payload.keys.begin());
    }
    Value& value = parsed.values[i];
    if (is_bytes && i == 0) value.field.type = FieldType::image;
    if (value.is_null) continue;
    const Field& wanted = fields[field];
    if (value.field.type != wanted.type ||
        (has_dtype(wanted) && value.field.dtype != wanted.dtype)) {
      differs(fmt::format("has {} as '{}'{}", name_of(kValueNames, value.field.type), wanted.name,
                          has_dtype(value.field) && value.field.type == wanted.type
                              ? fmt::format(" of type {}", to_string(value.field.dtype))
                              : ""));
    }
    switch (wanted.type) {
      case FieldType::scalar:
        builder.set_scalar_bits(field, wanted.dtype, value.bits);
        break;
      case FieldType::tensor:
        builder.set_tensor(field, {wanted.dtype, std::move(value.shape), value.bytes});
        break;
      case FieldType::string:
        builder.set_string(field,
                           {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
        break;
      default:
        if (value.header.empty()) {
          builder.set_bytes(field, value.bytes);
        } else {
          std::vector<std::byte>& picture = values.pictures.emplace_back();
          const auto header = std::as_bytes(std::span(value.header));
          picture.reserve(header.size() + value.bytes.size());
          picture.assign(header.begin(), header.end());
          picture.insert(picture.end(), value.bytes.begin(), value.bytes.end());
          builder.set_bytes(field, picture);
        }
    }
  }
}

}  // namespace ffkit
