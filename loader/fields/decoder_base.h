// What the loader's own field decoders are built on: where a schema's fields are, the bytes of an
// array, how many rows a decoder may say that it wrote, and RowListsDecoder.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>

#include "image/views/picture_views.h"

namespace ffkit {

// The size in memory of an array of numbers of `dtype`; {} is one number.
inline size_t array_bytes(DType dtype, std::span<const int64_t> shape) {
  size_t num_bytes = size_of(dtype);
  for (const int64_t extent : shape) num_bytes *= static_cast<size_t>(extent);
  return num_bytes;
}

// Throws Error(invalid_argument): the field is of a type that cannot serve; `expected` could.
[[noreturn]] void refuse_field(const Field& field, const std::string& expected);
// The place of a field of encoded pictures: an image or bytes. Throws Error(not_found), or as
// refuse_field().
size_t require_image(const Schema& schema, const std::string& field,
                     const std::string& expected = "an image");
// Of a tensor.
size_t require_tensor(const Schema& schema, const std::string& field);

// FieldDecoder::inputs() with one more field; nothing stays nothing.
inline std::optional<std::vector<size_t>> with_input(std::optional<std::vector<size_t>> inputs,
                                                     size_t field) {
  if (inputs) inputs->push_back(field);
  return inputs;
}

// What a decoder has that makes one array of known fields. Base: the kind of decoder that it is.
template <typename Base = FieldDecoder>
class ArrayDecoder : public Base {
 public:
  ArrayDecoder(std::vector<size_t> inputs, DType dtype, std::vector<int64_t> shape)
      : inputs_(std::move(inputs)), dtype_(dtype), shape_(std::move(shape)) {}
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return shape_; }
  std::optional<std::vector<size_t>> inputs() const override { return inputs_; }

 protected:
  const std::vector<size_t> inputs_;
  const DType dtype_;
  const std::vector<int64_t> shape_;
};

// Of how many rows a RowsDecoder says that it wrote. Too many are no bad sample: rows beyond the
// room for them have overwritten other samples.
inline void check_row_count(std::string_view field, int64_t num_rows, int64_t max_rows) {
  if (num_rows >= 0 && num_rows <= max_rows) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the decoder of the batch's field '{}' returned {} rows, but its "
                          "max_rows() is {}; correct the decoder",
                          field, num_rows, max_rows));
}

// Likewise of a part of a RowPartsDecoder, in whose place `room` rows fit. `num_counted` is what
// count_rows() said, where it was asked.
inline void check_part_rows(std::string_view field, int64_t part, int64_t num_rows, int64_t room,
                            std::optional<int64_t> num_counted) {
  const bool is_counted = !num_counted || num_rows == std::min(*num_counted, room);
  if (num_rows >= 0 && num_rows <= room && is_counted) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("the decoder of the batch's field '{}' wrote {} rows of part {}, but {}; correct "
                  "the decoder",
                  field, num_rows, part,
                  num_rows < 0 || num_rows > room ? fmt::format("there is room for {}", room)
                                                  : fmt::format("counted {}", *num_counted)));
}

// What count_rows() said. A negative number would place the rows of later parts over those of
// earlier ones, so nothing is written.
inline void check_counted_rows(std::string_view field, int64_t part, int64_t num_counted) {
  if (num_counted >= 0) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format(
          "the decoder of the batch's field '{}' counted {} rows in part {}; correct the decoder",
          field, num_counted, part));
}

// A decoder of several lists of rows for each sample, such as the boxes of each
// copy of a view.
//
//   ragged   [rows of sample 0 list 0, sample 0 list 1, .. sample 1 list 0, .., shape()...]
//   padded   [N, copies(), max_rows(), shape()...]
//
// Batch::row_offsets() of N samples has an entry for each list of each of them, and the end.
class RowListsDecoder : public FieldDecoder {
 public:
  // shape() is the shape of one row. None of these may change.
  // 0: one list, for which a padded array has no dimension.
  [[nodiscard]] virtual int64_t copies() const = 0;
  [[nodiscard]] virtual int64_t max_rows() const = 0;  // of each list
  [[nodiscard]] virtual RowLayout layout() const = 0;
  [[nodiscard]] int64_t num_lists() const { return copies() == 0 ? 1 : copies(); }

  // As RowsDecoder::decode_rows(), of list 0 .. num_lists()-1; `out` is where the list begins.
  virtual int64_t decode_list(const RecordView& record, const SampleKey& key, int64_t list,
                              Scratch* scratch, void* out) const = 0;
  // Of each list the rows, and zeros behind them up to max_rows().
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// ImageFieldDecoder: a FieldDecoder around ImagePipeline, which also counts its time.

// Of one picture in a batch: [channels, H, W] or [H, W, channels].
inline std::vector<int64_t> picture_shape(const ImageOutput& output, ImageSize size) {
  if (output.layout == Layout::nchw) return {output.channels, size.height, size.width};
  return {size.height, size.width, output.channels};
}

// For a picture whose pixels were mixed: throws Error(unsupported) where it has a palette, and
// notes that they may be numbers where it is grey of 16 bits.
inline void check_mixed_pixels(const ImageInfo& info, FieldDecoder::Work& work) {
  if (info.has_palette) {
    throw Error(
        ErrorCode::unsupported,
        "this PNG has a palette, as masks have, and a resize would mix its numbers; load a mask "
        "with a MaskField, or a picture with a PictureField or as the loader's picture");
  }
  work.resized_grey_of_16_bits |= info.has_16_bits && info.num_components <= 2;
}

class ImageFieldDecoder final : public FieldDecoder {
 public:
  struct ImageScratch final : Scratch {
    explicit ImageScratch(const ImageOptions& options) : pipeline(options) {}
    // As ImagePipeline's; counts its time, and looks at pictures whose pixels it mixed.
    void run(std::span<const std::byte> image, const SampleKey& key, void* out) {
      PipelineTimes times;
      pipeline.run(image, key, out, times);
      work.transform_ns += times.transform_ns;
      if (pipeline.mixes_pixels()) check_mixed_pixels(pipeline.info(), work);
    }
    ImagePipeline pipeline;
  };

  // Throws Error(invalid_argument) for options out of range.
  ImageFieldDecoder(size_t field, ImageOptions options)
      : field_(field), options_(std::move(options)) {
    validate(options_);
    if (padding_of(options_.transform) != nullptr) {
      throw Error(ErrorCode::invalid_argument,
                  "PadToLargest works only for the loader's picture and its views; end the Compose "
                  "of this field with a step that gives one size");
    }
  }

  const ImageOptions& options() const { return options_; }
  size_t field() const { return field_; }
  DType dtype() const override { return options_.output.dtype; }
  std::vector<int64_t> shape() const override {
    return picture_shape(options_.output, image_size(options_.transform));
  }
  std::optional<std::vector<size_t>> inputs() const override { return {{field_}}; }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ImageScratch>(options_);
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    static_cast<ImageScratch&>(*scratch).run(record.bytes(field_), key, out);
  }

 private:
  size_t field_;
  ImageOptions options_;
};

}  // namespace ffkit
