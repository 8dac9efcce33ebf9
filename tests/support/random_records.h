// Schemas and records drawn at random, the same for the same seed on every machine, and their
// comparison.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace ffkit::testing {

// std::mt19937 is the same everywhere; the distributions of the library are not.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint64_t bits() { return uint64_t{engine_()} << 32 | engine_(); }
  // 0 .. n-1
  uint64_t below(uint64_t n) { return bits() % n; }
  std::vector<std::byte> bytes(size_t count) {
    std::vector<std::byte> result(count);
    for (std::byte& byte : result) byte = static_cast<std::byte>(engine_());
    return result;
  }

 private:
  std::mt19937 engine_;
};

// The values of one record, owned; an empty optional-like flag stands for null.
struct RandomField {
  bool is_null = false;
  uint64_t scalar = 0;
  // One for bytes, string, image and tensor data; any number for lists.
  std::vector<std::vector<std::byte>> items;
  std::vector<std::vector<int64_t>> shapes;  // of tensors
};
using RandomRecord = std::vector<RandomField>;

inline Schema random_schema(Random& random) {
  Schema schema;
  const size_t num_fields = 1 + random.below(8);
  for (size_t i = 0; i < num_fields; ++i) {
    Field field;
    field.name = fmt::format("{}field {}", random.below(3) == 0 ? "group/" : "", i);
    field.type = static_cast<FieldType>(random.below(6));
    field.dtype = static_cast<DType>(random.below(12));
    if (field.type == FieldType::list) {
      constexpr FieldType kItems[] = {FieldType::bytes, FieldType::string, FieldType::tensor,
                                      FieldType::image};
      field.item = kItems[random.below(4)];
    }
    if (!has_dtype(field)) field.dtype = DType::u8;  // as schemas read from files have it
    field.column = (field.type == FieldType::scalar || field.type == FieldType::string) &&
                   random.below(2) == 0;
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

inline RandomRecord random_record(const Schema& schema, Random& random, size_t max_bytes) {
  RandomRecord record;
  for (const Field& field : schema.fields) {
    RandomField value;
    value.is_null = random.below(6) == 0;
    value.scalar = random.bits() >> (64 - 8 * size_of(field.dtype));
    const FieldType type = field.type == FieldType::list ? field.item : field.type;
    const size_t count = field.type == FieldType::list ? random.below(5) : 1;
    for (size_t i = 0; i < count; ++i) {
      size_t num_bytes = random.below(random.below(4) == 0 ? max_bytes : 40);
      std::vector<int64_t> shape;
      if (type == FieldType::tensor) {
        for (size_t d = random.below(4); d > 0; --d)
          shape.push_back(static_cast<int64_t>(random.below(6)));
        num_bytes = size_of(field.dtype);
        for (const int64_t size : shape) num_bytes *= static_cast<size_t>(size);
      }
      // Half of the values are compressible.
      value.items.push_back(random.below(2) == 0 ? std::vector<std::byte>(num_bytes, std::byte{'a'})
                                                 : random.bytes(num_bytes));
      if (type == FieldType::string) {
        for (std::byte& byte : value.items.back()) {  // UTF-8, as FORMAT.md wants it
          byte = static_cast<std::byte>('a' + std::to_integer<int>(byte) % 26);
        }
      }
      value.shapes.push_back(std::move(shape));
    }
    record.push_back(std::move(value));
  }
  return record;
}

inline std::vector<std::byte> encode(const Schema& schema, const RandomRecord& record) {
  RecordBuilder builder(schema);
  for (size_t i = 0; i < record.size(); ++i) {
    const Field& field = schema.fields[i];
    const RandomField& value = record[i];
    if (value.is_null) continue;
    const auto text = [&](size_t k) {
      return std::string_view(reinterpret_cast<const char*>(value.items[k].data()),
                              value.items[k].size());
    };
    const auto tensor = [&](size_t k) {
      return TensorView{field.dtype, value.shapes[k], value.items[k]};
    };
    switch (field.type) {
      case FieldType::bytes:
      case FieldType::image:
        builder.set_bytes(i, value.items[0]);
        break;
      case FieldType::string:
        builder.set_string(i, text(0));
        break;
      case FieldType::scalar:
        builder.set_scalar_bits(i, field.dtype, value.scalar);
        break;
      case FieldType::tensor:
        builder.set_tensor(i, tensor(0));
        break;
      case FieldType::list: {
        std::vector<std::string_view> texts;
        std::vector<std::span<const std::byte>> blobs;
        std::vector<TensorView> tensors;
        for (size_t k = 0; k < value.items.size(); ++k) {
          texts.push_back(text(k));
          blobs.emplace_back(value.items[k]);
          tensors.push_back(tensor(k));
        }
        if (field.item == FieldType::string) builder.set_list(i, texts);
        if (field.item == FieldType::tensor) builder.set_list(i, tensors);
        if (field.item == FieldType::bytes || field.item == FieldType::image)
          builder.set_list(i, blobs);
        break;
      }
    }
  }
  std::vector<std::byte> bytes;
  builder.encode(bytes);
  return bytes;
}

// Expects that `view`, of any origin, shows the values of `expected`.
inline void expect_field(const Field& field, const FieldView& view, const RandomField& expected) {
  ASSERT_EQ(view.is_null(), expected.is_null) << field.name;
  if (expected.is_null) return;
  const auto is_item = [&](std::span<const std::byte> bytes, size_t k) {
    return std::ranges::equal(bytes, expected.items[k]);
  };
  switch (field.type) {
    case FieldType::scalar:
      EXPECT_EQ(view.scalar_bits(field.dtype), expected.scalar) << field.name;
      break;
    case FieldType::string:
      EXPECT_TRUE(is_item(std::as_bytes(std::span(view.string())), 0)) << field.name;
      break;
    case FieldType::tensor:
      EXPECT_EQ(view.tensor().shape, expected.shapes[0]) << field.name;
      EXPECT_TRUE(is_item(view.tensor().data, 0)) << field.name;
      break;
    case FieldType::list: {
      const ListView list = view.list();
      ASSERT_EQ(list.size(), expected.items.size()) << field.name;
      for (size_t k = 0; k < list.size(); ++k) {
        if (field.item == FieldType::tensor) {
          EXPECT_EQ(list.tensor(k).shape, expected.shapes[k]) << field.name;
          EXPECT_TRUE(is_item(list.tensor(k).data, k)) << field.name;
        } else if (field.item == FieldType::string) {
          EXPECT_TRUE(is_item(std::as_bytes(std::span(list.string(k))), k)) << field.name;
        } else {
          EXPECT_TRUE(is_item(list.bytes(k), k)) << field.name;
        }
      }
      break;
    }
    default:
      EXPECT_TRUE(is_item(view.bytes(), 0)) << field.name;
  }
}

inline void expect_record(const Schema& schema, std::span<const std::byte> bytes,
                          const RandomRecord& expected) {
  const RecordView view(schema, bytes);
  view.verify_fields();
  for (size_t i = 0; i < expected.size(); ++i)
    expect_field(schema.fields[i], view.field(i), expected[i]);
}

}  // namespace ffkit::testing
