#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "image/codec/mask_decoder.h"
#include "image/random_numbers/random_streams.h"
#include "image/views/mask_scaler.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

bool is_list_of(const Field& field, std::initializer_list<FieldType> items) {
  return field.type == FieldType::list && std::ranges::find(items, field.item) != std::end(items);
}

size_t require_pictures(const Schema& schema, const std::string& field) {
  const size_t at = schema.require(field);
  if (!is_list_of(schema.fields[at], {FieldType::image, FieldType::bytes})) {
    refuse_field(schema.fields[at], "a list of images, the frames of a video");
  }
  return at;
}

// The frames of one sample.
struct ChosenFrames {
  ListView video;
  std::vector<int64_t> numbers;
  std::span<const std::byte> frame(int64_t part) const {
    return video.bytes(static_cast<size_t>(numbers[static_cast<size_t>(part)]));
  }
};

ChosenFrames choose_frames(const Clip& clip, const RecordView& record, const SampleKey& key) {
  ListView video = record.list(clip.field());
  std::vector<int64_t> numbers = clip.choose(std::ssize(video), key);
  return {std::move(video), std::move(numbers)};
}

// One frame after another, where the first one says which size all have.
struct FrameScratch : FieldDecoder::Scratch {
  explicit FrameScratch(const ImageOptions& options) : pictures({options}) {}

  // Plans the frame that is `part` of the clip.
  void begin(const ChosenFrames& frames, int64_t part, const SampleKey& key, PipelineTimes& times) {
    const size_t view = 0;
    pictures.begin(frames.frame(part), {&view, 1}, {&key, 1}, times);
    const int64_t first = frames.numbers.front();
    const int64_t number = frames.numbers[static_cast<size_t>(part)];
    if (number == first) return;
    const ImageInfo expected = read_image_info(frames.frame(0));
    const ImageInfo& info = pictures.info();
    if (info.width == expected.width && info.height == expected.height) return;
    throw error_of(ErrorCode::corrupt,
                   "frame {} has {} x {} pixels, but frame {} has {} x {} pixels; all frames of a "
                   "clip must have the same size",
                   number, info.width, info.height, first, expected.width, expected.height);
  }

  PictureViews pictures;
};

// What all of them have: an array with an item for each frame.
class OfFrames : public ArrayDecoder<PartsDecoder> {
 public:
  OfFrames(const ClipPtr& clip, std::vector<size_t> inputs, DType dtype,
           const std::vector<int64_t>& shape)
      : ArrayDecoder(std::move(inputs), dtype, with_frames(*clip, shape)),
        clip_(clip),
        bytes_per_frame_(array_bytes(dtype, shape)) {}
  int64_t num_parts() const override { return clip_->count(); }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<FrameScratch>(clip_->options().image);
  }
  void decode_part(const RecordView& record, const SampleKey& key, int64_t part, Scratch* scratch,
                   void* out) const override {
    auto& own = static_cast<FrameScratch&>(*scratch);
    const ChosenFrames frames = choose_frames(*clip_, record, key);
    const SampleKey clip_key = clip_->key_of(key);
    PipelineTimes times;
    own.begin(frames, part, clip_key, times);
    write_frame({record, frames, clip_key, part}, own, times,
                static_cast<std::byte*>(out) + static_cast<size_t>(part) * bytes_per_frame_);
    own.work.transform_ns += times.transform_ns;
  }

 protected:
  const Clip& clip() const { return *clip_; }
  struct Frame {
    const RecordView& record;
    const ChosenFrames& frames;
    const SampleKey& key;  // the clip's
    int64_t part;
  };
  // The scratch has begun the frame.
  virtual void write_frame(const Frame& frame, FrameScratch& scratch, PipelineTimes& times,
                           std::byte* out) const = 0;

 private:
  static std::vector<int64_t> with_frames(const Clip& clip, std::vector<int64_t> shape) {
    shape.insert(shape.begin(), clip.count());
    return shape;
  }

  ClipPtr clip_;
  size_t bytes_per_frame_;
};

class ClipDecoder final : public OfFrames {
 public:
  explicit ClipDecoder(const ClipPtr& clip)
      : OfFrames(clip, {clip->field()}, clip->options().image.output.dtype,
                 picture_shape(clip->options().image.output,
                               image_size(clip->options().image.transform))) {}

 private:
  void write_frame(const Frame& /*frame*/, FrameScratch& scratch, PipelineTimes& times,
                   std::byte* out) const override {
    scratch.pictures.write(0, out, times);
    if (scratch.pictures.mixes_pixels(0)) check_mixed_pixels(scratch.pictures.info(), scratch.work);
  }
};

// The item of a further list that belongs to a frame. Throws Error(corrupt) unless there is one for
// each frame.
size_t item_of(const ListView& items, const std::string& name, const ChosenFrames& frames,
               int64_t part) {
  if (items.size() == frames.video.size()) {
    return static_cast<size_t>(frames.numbers[static_cast<size_t>(part)]);
  }
  throw error_of(ErrorCode::corrupt,
                 "field '{}' has {} items, but the video has {} frames; the field must have one "
                 "item per frame",
                 name, items.size(), frames.video.size());
}

class FramePictureDecoder final : public OfFrames {
 public:
  FramePictureDecoder(const ClipPtr& clip, size_t field, std::string name, ImageOptions options)
      : OfFrames(clip, {clip->field(), field}, options.output.dtype,
                 picture_shape(options.output, image_size(options.transform))),
        field_(field),
        name_(std::move(name)),
        options_(std::move(options)) {
    validate(options_);
    refuse_moves_of_follower(options_, clip->options().image, clip->name());
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<FollowerScratch>(clip().options().image, options_);
  }

 private:
  struct FollowerScratch final : FrameScratch {
    FollowerScratch(const ImageOptions& leader, const ImageOptions& options)
        : FrameScratch(leader), followers({options}) {}
    PictureViews followers;
  };
  void write_frame(const Frame& frame, FrameScratch& scratch, PipelineTimes& times,
                   std::byte* out) const override {
    auto& own = static_cast<FollowerScratch&>(scratch);
    const ListView items = frame.record.list(field_);
    own.followers.follow(items.bytes(item_of(items, name_, frame.frames, frame.part)), own.pictures,
                         0, {&frame.key, 1}, times);
    own.followers.write(0, out, times);
  }

  size_t field_;
  std::string name_;
  ImageOptions options_;
};

class FrameMaskDecoder final : public OfFrames {
 public:
  FrameMaskDecoder(const ClipPtr& clip, size_t field, const Field& description, MaskOptions options)
      : OfFrames(clip, {clip->field(), field}, options.dtype,
                 {size_of(*clip).height, size_of(*clip).width}),
        field_(field),
        name_(description.name),
        is_tensor_(description.item == FieldType::tensor),
        options_(std::move(options)) {
    validate(options_);
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<MaskScratch>(clip().options().image, options_);
  }

 private:
  struct MaskScratch final : FrameScratch {
    MaskScratch(const ImageOptions& leader, const MaskOptions& options)
        : FrameScratch(leader), scaler(options) {}
    MaskScaler scaler;
    MaskDecoder decoder;
    std::vector<std::byte> tensor;
  };
  static ImageSize size_of(const Clip& clip) { return image_size(clip.options().image.transform); }

  void write_frame(const Frame& frame, FrameScratch& scratch, PipelineTimes& /*times*/,
                   std::byte* out) const override {
    auto& own = static_cast<MaskScratch&>(scratch);
    const ListView items = frame.record.list(field_);
    const size_t item = item_of(items, name_, frame.frames, frame.part);
    const MaskView mask = is_tensor_ ? mask_of_tensor(items.tensor(item), own.tensor)
                                     : own.decoder.decode(items.bytes(item), options_.numbers);
    require_size_of_picture("mask", mask.width, mask.height, own.pictures.info());
    own.scaler.run(mask, own.pictures.moves(0), out);
  }

  size_t field_;
  std::string name_;
  bool is_tensor_;
  MaskOptions options_;
};

class FrameNumbersDecoder final : public ArrayDecoder<> {
 public:
  explicit FrameNumbersDecoder(const ClipPtr& clip)
      : ArrayDecoder({clip->field()}, DType::i64, {clip->count()}), clip_(clip) {}
  void decode(const RecordView& record, const SampleKey& key, Scratch*, void* out) const override {
    const std::vector<int64_t> numbers = choose_frames(*clip_, record, key).numbers;
    std::memcpy(out, numbers.data(), numbers.size() * sizeof(int64_t));
  }

 private:
  ClipPtr clip_;
};

// What is equal for all frames of a clip: `write` takes it from the first one.
class FirstFrameDecoder final : public ArrayDecoder<> {
 public:
  FirstFrameDecoder(const ClipPtr& clip, DType dtype, std::vector<int64_t> shape, WriteFact write)
      : ArrayDecoder({clip->field()}, dtype, std::move(shape)), clip_(clip), write_(write) {}
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<FrameScratch>(clip_->options().image);
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<FrameScratch&>(*scratch);
    PipelineTimes times;
    own.begin(choose_frames(*clip_, record, key), 0, clip_->key_of(key), times);
    write_(own.pictures, 0, out);
  }

 private:
  ClipPtr clip_;
  WriteFact write_;
};

}  // namespace

Clip::Clip(const Schema& schema, std::string name, FramesField options)
    : name_(std::move(name)),
      options_(std::move(options)),
      field_(require_pictures(schema, options_.field)) {
  check_between("count", static_cast<double>(options_.count), 1, 1 << 16);
  check_between("stride", static_cast<double>(options_.stride), 0, 1 << 16);
  validate(options_.image);
  if (padding_of(options_.image.transform) != nullptr) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the clip '{}' has a PadToLargest, which is only for pictures; end its Compose with a step "
        "that gives one size",
        name_);
  }
  if (needs_boxes(options_.image.transform)) {
    throw error_of(ErrorCode::invalid_argument,
                   "the clip '{}' has a RandomIoUCrop, but the frames of a clip have no boxes; "
                   "give another transform",
                   name_);
  }
}

SampleKey Clip::key_of(const SampleKey& sample) const {
  return view_key(sample, name_);
}

// With a stride of 0.
int64_t Clip::frame_of_part(int64_t part, int64_t num_frames, CounterRandom& random) const {
  const int64_t begin = part * num_frames / count();
  const int64_t end = (part + 1) * num_frames / count();
  if (end <= begin) return begin;
  return options_.jitter ? begin + random.below(end - begin) : (begin + end - 1) / 2;
}

std::vector<int64_t> Clip::choose(int64_t num_frames, const SampleKey& sample) const {
  if (num_frames == 0) {
    throw error_of(ErrorCode::corrupt, "field '{}' has no frames, so no clip can be made from it",
                   options_.field);
  }
  const bool is_spread = options_.stride == 0;
  const int64_t needed = is_spread ? count() : (count() - 1) * options_.stride + 1;
  const bool is_short = num_frames < needed;
  if (is_short && options_.if_short == ShortVideo::bad) {
    throw error_of(ErrorCode::unsupported,
                   "a clip of {} frames{} needs a video with {} frames, but the video has {} "
                   "frames; leave out such records, or set if_short to loop or repeat",
                   count(), is_spread ? "" : fmt::format(" with a stride of {}", options_.stride),
                   needed, num_frames);
  }
  CounterRandom random(key_of(sample), kFramesStream);
  const bool loops = is_short && options_.if_short == ShortVideo::loop;
  // Where a clip may begin.
  const int64_t num_begins = loops ? num_frames : is_short ? 1 : num_frames - needed + 1;
  int64_t begin = loops ? 0 : (num_begins - 1) / 2;
  if (options_.jitter && !is_spread) begin = random.below(num_begins);
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(count()));
  for (int64_t i = 0; i < count(); ++i) {
    const int64_t at = begin + i * std::max<int64_t>(options_.stride, 1);
    if (loops) {
      numbers.push_back(at % num_frames);
    } else if (is_spread) {
      numbers.push_back(frame_of_part(i, num_frames, random));
    } else {
      numbers.push_back(std::min(at, num_frames - 1));
    }
  }
  return numbers;
}

std::shared_ptr<const FieldDecoder> decode_clip(const ClipPtr& clip) {
  return std::make_shared<ClipDecoder>(clip);
}

std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const MaskField& field) {
  const size_t at = schema.require(field.field);
  const Field& description = schema.fields[at];
  if (!is_list_of(description, {FieldType::image, FieldType::bytes}) &&
      !(is_list_of(description, {FieldType::tensor}) && can_be_mask(description.dtype))) {
    refuse_field(description, "a list of PNGs, or a list of tensors of u8, u16 or i32");
  }
  return where_null(schema, field,
                    std::make_shared<const FrameMaskDecoder>(clip, at, description, field.mask));
}

std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const PictureField& field) {
  const size_t at = require_pictures(schema, field.field);
  ImageOptions options{.transform = clip->options().image.transform,
                       .augmentations = field.augmentations,
                       .output = field.output};
  return where_null(
      schema, field,
      std::make_shared<const FramePictureDecoder>(clip, at, field.field, std::move(options)));
}

std::shared_ptr<const FieldDecoder> decode_frame_numbers(const ClipPtr& clip) {
  return std::make_shared<FrameNumbersDecoder>(clip);
}

std::shared_ptr<const FieldDecoder> decode_clip_geometry(const ClipPtr& clip) {
  return std::make_shared<FirstFrameDecoder>(clip, DType::f64, std::vector<int64_t>{3, 3},
                                             write_matrix);
}

std::shared_ptr<const FieldDecoder> decode_frame_size(const ClipPtr& clip) {
  return std::make_shared<FirstFrameDecoder>(clip, DType::i64, std::vector<int64_t>{2},
                                             write_source_size);
}

}  // namespace ffkit
