#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/error.h>
#include <ffkit/loader/field_decoder.h>

#include "image_field_decoder.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse(const Field& field, const char* expected) {
  const std::string dtype = has_dtype(field) ? fmt::format(" of {}", to_string(field.dtype)) : "";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("field '{}' is a {}{}; expected {}", field.name, to_string(field.type),
                          dtype, expected));
}

class IntegerDecoder final : public FieldDecoder {
 public:
  IntegerDecoder(size_t field, DType stored) : field_(field), stored_(stored) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const FieldView field = record.field(field_);
    const int64_t value = visit_dtype(stored_, [&](auto type) -> int64_t {
      using T = typename decltype(type)::type;
      if constexpr (std::is_integral_v<T>) {
        return static_cast<int64_t>(field.scalar<T>());
      } else {
        return 0;  // refused by decode_integer()
      }
    });
    std::memcpy(out, &value, sizeof(value));
  }

 private:
  size_t field_;
  DType stored_;
};

class ScalarCopier final : public FieldDecoder {
 public:
  ScalarCopier(size_t field, DType dtype) : field_(field), dtype_(dtype) {}
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return {}; }

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const uint64_t bits = record.field(field_).scalar_bits(dtype_);
    std::memcpy(out, &bits, size_of(dtype_));
  }

 private:
  size_t field_;
  DType dtype_;
};

class TensorCopier final : public FieldDecoder {
 public:
  TensorCopier(size_t field, const Field& description, std::vector<int64_t> shape)
      : field_(field),
        name_(description.name),
        dtype_(description.dtype),
        shape_(std::move(shape)) {}
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return shape_; }

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const TensorView tensor = record.tensor(field_);
    if (tensor.shape != shape_) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' has shape [{}], but the batch takes [{}]; expected the "
                              "same in all records",
                              name_, fmt::join(tensor.shape, ", "), fmt::join(shape_, ", ")));
    }
    if (!tensor.data.empty()) std::memcpy(out, tensor.data.data(), tensor.data.size());
  }

 private:
  size_t field_;
  std::string name_;
  DType dtype_;
  std::vector<int64_t> shape_;
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_image(const Schema& schema, const std::string& field,
                                                 const ImageOptions& options) {
  const size_t at = schema.require(field);
  const Field& description = schema.fields[at];
  if (description.type != FieldType::image && description.type != FieldType::bytes) {
    refuse(description, "an image");
  }
  return std::make_shared<ImageFieldDecoder>(at, options);
}

std::shared_ptr<const FieldDecoder> decode_integer(const Schema& schema, const std::string& field) {
  const size_t at = schema.require(field);
  const Field& description = schema.fields[at];
  if (description.type != FieldType::scalar || !is_integer(description.dtype)) {
    refuse(description, "an integer, that is a scalar of an integer type");
  }
  return std::make_shared<IntegerDecoder>(at, description.dtype);
}

std::shared_ptr<const FieldDecoder> copy_field(const Schema& schema, const std::string& field,
                                               std::vector<int64_t> shape) {
  const size_t at = schema.require(field);
  const Field& description = schema.fields[at];
  if (description.type == FieldType::scalar) {
    if (!shape.empty()) refuse(description, "a tensor for a shape that is not empty");
    return std::make_shared<ScalarCopier>(at, description.dtype);
  }
  if (description.type != FieldType::tensor) refuse(description, "a scalar or a tensor");
  for (int64_t extent : shape) {
    if (extent >= 0) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the shape of field '{}' is [{}]; extents must not be negative", field,
                            fmt::join(shape, ", ")));
  }
  return std::make_shared<TensorCopier>(at, description, std::move(shape));
}

}  // namespace ffkit
