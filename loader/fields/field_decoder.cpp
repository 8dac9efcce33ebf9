#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/loader/field_decoder.h>

#include "base/make_error.h"
#include "base/mix64.h"
#include "fields/decoder_base.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

// Of one sample, or of a row where it writes rows.
size_t bytes_written(const FieldDecoder& decoder) {
  return array_bytes(decoder.dtype(), decoder.shape());
}

class ImagesDecoder final : public PartsDecoder {
 public:
  ImagesDecoder(std::vector<size_t> fields, ImageOptions options)
      : fields_(std::move(fields)), one_(0, std::move(options)) {
    bytes_per_image_ = bytes_written(one_);
  }
  DType dtype() const override { return one_.dtype(); }
  std::vector<int64_t> shape() const override {
    std::vector<int64_t> shape = one_.shape();
    shape.insert(shape.begin(), std::ssize(fields_));
    return shape;
  }
  std::optional<std::vector<size_t>> inputs() const override { return fields_; }
  std::unique_ptr<Scratch> make_scratch() const override { return one_.make_scratch(); }
  int64_t num_parts() const override { return std::ssize(fields_); }
  void decode_part(const RecordView& record, const SampleKey& key, int64_t part, Scratch* scratch,
                   void* out) const override {
    const auto image = static_cast<size_t>(part);
    static_cast<ImageFieldDecoder::ImageScratch&>(*scratch).run(
        record.bytes(fields_[image]), image_key(key, image),
        static_cast<std::byte*>(out) + image * bytes_per_image_);
  }

 private:
  std::vector<size_t> fields_;
  ImageFieldDecoder one_;
  size_t bytes_per_image_ = 0;
};

class IntegerDecoder final : public ArrayDecoder<> {
 public:
  IntegerDecoder(size_t field, DType stored)
      : ArrayDecoder({field}, DType::i64, {}), field_(field), stored_(stored) {}

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

class ScalarCopier final : public ArrayDecoder<> {
 public:
  ScalarCopier(size_t field, DType dtype) : ArrayDecoder({field}, dtype, {}), field_(field) {}

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const uint64_t bits = record.field(field_).scalar_bits(dtype_);
    std::memcpy(out, &bits, size_of(dtype_));
  }

 private:
  size_t field_;
};

class TensorCopier final : public ArrayDecoder<> {
 public:
  TensorCopier(size_t field, const Field& description, std::vector<int64_t> shape)
      : ArrayDecoder({field}, description.dtype, std::move(shape)),
        field_(field),
        name_(description.name) {}

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const TensorView tensor = record.tensor(field_);
    if (tensor.shape != shape_) {
      throw error_of(ErrorCode::corrupt,
                     "field '{}' has the shape [{}], but the batch needs [{}]; all records must "
                     "have the same shape",
                     name_, fmt::join(tensor.shape, ", "), fmt::join(shape_, ", "));
    }
    if (!tensor.data.empty()) std::memcpy(out, tensor.data.data(), tensor.data.size());
  }

 private:
  size_t field_;
  std::string name_;
};

class StringCopier final : public TextDecoder {
 public:
  StringCopier(size_t field, std::string name, int64_t max_bytes)
      : field_(field), name_(std::move(name)), max_bytes_(max_bytes) {}
  std::optional<std::vector<size_t>> inputs() const override { return {{field_}}; }

  std::string_view decode_text(const RecordView& record, const SampleKey&,
                               Scratch*) const override {
    if (record.is_null(field_)) return {};
    const std::string_view text = record.string(field_);
    if (max_bytes_ == 0 || std::ssize(text) <= max_bytes_) return text;
    throw error_of(ErrorCode::unsupported,
                   "field '{}' has a text of {} bytes, but max_bytes is {}; give a larger "
                   "max_bytes, or 0 for no limit",
                   name_, text.size(), max_bytes_);
  }

 private:
  size_t field_;
  std::string name_;
  int64_t max_bytes_;  // 0: no limit
};

}  // namespace

void refuse_field(const Field& field, const std::string& expected) {
  const std::string items = field.type == FieldType::list
                                ? fmt::format(" of {}{}", to_string(field.item),
                                              field.item == FieldType::bytes ? "" : "s")
                                : "";
  const std::string dtype = has_dtype(field) ? fmt::format(" of {}", to_string(field.dtype)) : "";
  throw error_of(ErrorCode::invalid_argument, "field '{}' is {} {}{}{}; expected {}", field.name,
                 field.type == FieldType::image ? "an" : "a", to_string(field.type), items, dtype,
                 expected);
}

size_t require_image(const Schema& schema, const std::string& field, const std::string& expected) {
  const size_t at = schema.require(field);
  const FieldType type = schema.fields[at].type;
  if (type != FieldType::image && type != FieldType::bytes) {
    refuse_field(schema.fields[at], expected);
  }
  return at;
}

size_t require_tensor(const Schema& schema, const std::string& field) {
  const size_t at = schema.require(field);
  if (schema.fields[at].type != FieldType::tensor) refuse_field(schema.fields[at], "a tensor");
  return at;
}

void FieldDecoder::will_read(int64_t /*record_index*/) const noexcept {}

void PartsDecoder::decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                          void* out) const {
  for (int64_t i = 0; i < num_parts(); ++i) decode_part(record, key, i, scratch, out);
}

void RowsDecoder::decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                         void* out) const {
  const size_t row_bytes = bytes_written(*this);
  const int64_t num_rows = decode_rows(record, key, scratch, out);
  check_row_count("", num_rows, max_rows());
  std::memset(static_cast<std::byte*>(out) + static_cast<size_t>(num_rows) * row_bytes, 0,
              static_cast<size_t>(max_rows() - num_rows) * row_bytes);
}

int64_t RowPartsDecoder::decode_rows(const RecordView& record, const SampleKey& key,
                                     Scratch* scratch, void* out) const {
  const size_t row_bytes = bytes_written(*this);
  int64_t num_rows = 0;
  for (int64_t part = 0; part < num_parts(); ++part) {
    begin_part(record, key, part, scratch);
    const int64_t room = max_rows() - num_rows;
    const int64_t num_new =
        write_rows(record, key, part, scratch, room,
                   static_cast<std::byte*>(out) + static_cast<size_t>(num_rows) * row_bytes);
    check_part_rows("", part, num_new, room, std::nullopt);
    num_rows += num_new;
  }
  return num_rows;
}

void TextDecoder::decode(const RecordView& /*record*/, const SampleKey& /*key*/,
                         Scratch* /*scratch*/, void* /*out*/) const {
  throw Error(ErrorCode::invalid_argument,
              "a text has no fixed size, so decode() cannot write it; call decode_text()");
}

std::shared_ptr<const FieldDecoder> decode_image(const Schema& schema, const std::string& field,
                                                 const ImageOptions& options) {
  return std::make_shared<ImageFieldDecoder>(require_image(schema, field), options);
}

std::shared_ptr<const FieldDecoder> decode_images(const Schema& schema,
                                                  const std::vector<std::string>& fields,
                                                  const ImageOptions& options) {
  std::vector<size_t> places;
  places.reserve(fields.size());
  for (const std::string& field : fields) places.push_back(require_image(schema, field));
  return std::make_shared<ImagesDecoder>(std::move(places), options);
}

SampleKey image_key(const SampleKey& key, size_t image) {
  if (image == 0) return key;
  return {mix64(key.seed, image), key.epoch, key.record_index};
}

std::shared_ptr<const FieldDecoder> decode_integer(const Schema& schema, const std::string& field) {
  const size_t at = schema.require(field);
  const Field& description = schema.fields[at];
  if (description.type != FieldType::scalar || !is_integer(description.dtype)) {
    refuse_field(description, "a scalar of an integer type");
  }
  return std::make_shared<IntegerDecoder>(at, description.dtype);
}

std::shared_ptr<const FieldDecoder> copy_field(const Schema& schema, const std::string& field,
                                               std::vector<int64_t> shape) {
  const size_t at = schema.require(field);
  const Field& description = schema.fields[at];
  if (description.type == FieldType::scalar) {
    if (!shape.empty()) refuse_field(description, "a tensor, because the given shape is not empty");
    return std::make_shared<ScalarCopier>(at, description.dtype);
  }
  if (description.type != FieldType::tensor) refuse_field(description, "a scalar or a tensor");
  for (int64_t extent : shape) {
    if (extent >= 0) continue;
    throw error_of(ErrorCode::invalid_argument,
                   "the shape of field '{}' is [{}]; expected no negative number", field,
                   fmt::join(shape, ", "));
  }
  return std::make_shared<TensorCopier>(at, description, std::move(shape));
}

std::shared_ptr<const FieldDecoder> copy_string(const Schema& schema, const std::string& field,
                                                int64_t max_bytes) {
  const size_t at = schema.require(field);
  if (schema.fields[at].type != FieldType::string) refuse_field(schema.fields[at], "a string");
  if (max_bytes < 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "max_bytes is {}; expected 1 or more, or 0 for no limit", max_bytes);
  }
  return std::make_shared<StringCopier>(at, field, max_bytes);
}

void RowListsDecoder::decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                             void* out) const {
  const size_t row_bytes = array_bytes(dtype(), shape());
  auto* to = static_cast<std::byte*>(out);
  for (int64_t list = 0; list < num_lists(); ++list) {
    const int64_t num_rows = decode_list(record, key, list, scratch, to);
    check_row_count("", num_rows, max_rows());
    const size_t list_bytes = static_cast<size_t>(max_rows()) * row_bytes;
    const size_t written = static_cast<size_t>(num_rows) * row_bytes;
    std::memset(to + written, 0, list_bytes - written);
    to += list_bytes;
  }
}

namespace {

// Of the calling thread. getrusage() knows it only up to the last tick of the kernel's clock,
// milliseconds ago, and would count what ran before a read as running in it.
int64_t running_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace

CountedRead::CountedRead(FieldDecoder::Scratch& scratch) : work_(scratch.work), begin_(now()) {}

CountedRead::~CountedRead() {
  const Moment end = now();
  ++work_.num_reads;
  // Who never gave up its core was preempted at most.
  if (end.num_sleeps == begin_.num_sleeps) return;
  const int64_t waited_ns = end.ns - begin_.ns - (end.running_ns - begin_.running_ns);
  work_.read_wait_ns += std::max<int64_t>(waited_ns, 0);
}

CountedRead::Moment CountedRead::now() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.ns = now_ns(), .running_ns = running_ns(), .num_sleeps = usage.ru_nvcsw};
}

void CountedRead::add_bytes(size_t num_bytes) {
  work_.bytes_read += static_cast<int64_t>(num_bytes);
}

namespace {

using DecoderPtr = std::shared_ptr<const FieldDecoder>;

// 1 for each of the fields that is not null.
class ValidFields final : public ArrayDecoder<> {
 public:
  ValidFields(std::vector<size_t> fields, std::vector<int64_t> shape)
      : ArrayDecoder(std::move(fields), DType::u8, std::move(shape)) {}
  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    auto* to = static_cast<uint8_t*>(out);
    for (const size_t field : inputs_) *to++ = record.is_null(field) ? 0 : 1;
  }
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
  std::optional<std::vector<size_t>> inputs() const override {
    return with_input(wrapped_.inputs(), field_);
  }
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
  std::optional<std::vector<size_t>> inputs() const override {
    return with_input(wrapped_.inputs(), field_);
  }
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
  return std::make_shared<ValidFields>(std::vector<size_t>{schema.require(field)},
                                       std::vector<int64_t>());
}

DecoderPtr decode_valid(const Schema& schema, const std::vector<std::string>& fields) {
  std::vector<size_t> places;
  places.reserve(fields.size());
  for (const std::string& field : fields) places.push_back(schema.require(field));
  const std::vector<int64_t> shape = {std::ssize(places)};
  return std::make_shared<ValidFields>(std::move(places), shape);
}

DecoderPtr zeros_where_null(const Schema& schema, const std::string& field, DecoderPtr decoder) {
  const size_t at = schema.require(field);
  if (decoder == nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("there is no decoder for field '{}'; give a decoder for this field", field));
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
