#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/loader/field_decoder.h>

#include "fields/decoder_base.h"

namespace ffkit {
namespace {

using DecoderPtr = std::shared_ptr<const FieldDecoder>;

// 1 for each of the fields that is not null.
class ValidFields final : public FieldDecoder {
 public:
  ValidFields(const Schema& schema, const std::vector<std::string>& fields, bool is_scalar)
      : is_scalar_(is_scalar) {
    for (const std::string& field : fields) fields_.push_back(schema.require(field));
  }
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override {
    if (is_scalar_) return {};
    return {std::ssize(fields_)};
  }
  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    auto* to = static_cast<uint8_t*>(out);
    for (const size_t field : fields_) *to++ = record.is_null(field) ? 0 : 1;
  }

 private:
  bool is_scalar_;
  std::vector<size_t> fields_;
};

// What all of them below pass on to the decoder that they wrap. Base: the kind of decoder that it
// is.
template <typename Base>
class ZerosWhereNull : public Base {
 public:
  using Scratch = FieldDecoder::Scratch;

  ZerosWhereNull(size_t field, DecoderPtr decoder)
      : field_(field),
        decoder_(std::move(decoder)),
        wrapped_(dynamic_cast<const Base&>(*decoder_)) {}
  DType dtype() const override { return wrapped_.dtype(); }
  std::vector<int64_t> shape() const override { return wrapped_.shape(); }
  std::unique_ptr<Scratch> make_scratch() const override { return wrapped_.make_scratch(); }
  void will_read(int64_t record_index) const noexcept override { wrapped_.will_read(record_index); }

 protected:
  bool is_null(const RecordView& record) const { return record.is_null(field_); }
  const Base& wrapped() const { return wrapped_; }
  void write_zeros(void* out) const { std::memset(out, 0, array_bytes(dtype(), shape())); }

 private:
  size_t field_;
  DecoderPtr decoder_;
  const Base& wrapped_;
};

class ZerosOrArray final : public ZerosWhereNull<FieldDecoder> {
 public:
  using ZerosWhereNull::ZerosWhereNull;
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    if (is_null(record)) {
      write_zeros(out);
    } else {
      wrapped().decode(record, key, scratch, out);
    }
  }
};

class ZerosOrParts final : public ZerosWhereNull<PartsDecoder> {
 public:
  using ZerosWhereNull::ZerosWhereNull;
  int64_t num_parts() const override { return wrapped().num_parts(); }
  // The first part writes the zeros of all, which write nothing else.
  void decode_part(const RecordView& record, const SampleKey& key, int64_t part, Scratch* scratch,
                   void* out) const override {
    if (!is_null(record)) {
      wrapped().decode_part(record, key, part, scratch, out);
    } else if (part == 0) {
      write_zeros(out);
    }
  }
};

class ZerosOrRows final : public ZerosWhereNull<RowsDecoder> {
 public:
  using ZerosWhereNull::ZerosWhereNull;
  int64_t max_rows() const override { return wrapped().max_rows(); }
  RowLayout layout() const override { return wrapped().layout(); }
  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const override {
    return is_null(record) ? 0 : wrapped().decode_rows(record, key, scratch, out);
  }
};

class EmptyOrText final : public TextDecoder {
 public:
  EmptyOrText(size_t field, DecoderPtr decoder)
      : field_(field),
        decoder_(std::move(decoder)),
        wrapped_(dynamic_cast<const TextDecoder&>(*decoder_)) {}
  std::unique_ptr<Scratch> make_scratch() const override { return wrapped_.make_scratch(); }
  void will_read(int64_t record_index) const noexcept override { wrapped_.will_read(record_index); }
  std::string_view decode_text(const RecordView& record, const SampleKey& key,
                               Scratch* scratch) const override {
    return record.is_null(field_) ? std::string_view() : wrapped_.decode_text(record, key, scratch);
  }

 private:
  size_t field_;
  DecoderPtr decoder_;
  const TextDecoder& wrapped_;
};

}  // namespace

DecoderPtr decode_valid(const Schema& schema, const std::string& field) {
  return std::make_shared<ValidFields>(schema, std::vector<std::string>{field}, true);
}

DecoderPtr decode_valid(const Schema& schema, const std::vector<std::string>& fields) {
  return std::make_shared<ValidFields>(schema, fields, false);
}

DecoderPtr zeros_where_null(const Schema& schema, const std::string& field, DecoderPtr decoder) {
  const size_t at = schema.require(field);
  if (decoder == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no decoder for field '{}'; give one", field));
  }
  if (dynamic_cast<const PartsDecoder*>(decoder.get()) != nullptr) {
    return std::make_shared<ZerosOrParts>(at, std::move(decoder));
  }
  if (dynamic_cast<const RowsDecoder*>(decoder.get()) != nullptr) {
    return std::make_shared<ZerosOrRows>(at, std::move(decoder));
  }
  if (dynamic_cast<const TextDecoder*>(decoder.get()) != nullptr) {
    return std::make_shared<EmptyOrText>(at, std::move(decoder));
  }
  return std::make_shared<ZerosOrArray>(at, std::move(decoder));
}

}  // namespace ffkit
