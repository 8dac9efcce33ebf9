// Clips: frames of a video, which is a field of a list of pictures, as one array of a batch; and
// what follows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/view.h>

namespace ffkit {

// A FramesField of a batch. Never changes.
class Clip {
 public:
  // `name` is that of its array. Throws Error(invalid_argument) for options out of range, and for a
  // field that has no pictures.
  Clip(const Schema& schema, std::string name, FramesField options);

  const std::string& name() const { return name_; }
  const FramesField& options() const { return options_; }
  size_t field() const { return field_; }
  int64_t count() const { return options_.count; }
  // What all of its frames draw with.
  SampleKey key_of(const SampleKey& sample) const;
  // The numbers of its `count()` frames among the `num_frames` of the video. Throws
  // Error(unsupported) for a video that is too short, and Error(corrupt) for one without frames.
  std::vector<int64_t> choose(int64_t num_frames, const SampleKey& sample) const;

 private:
  int64_t frame_of_part(int64_t part, int64_t num_frames, CounterRandom& random) const;

  std::string name_;
  FramesField options_;
  size_t field_;
};

using ClipPtr = std::shared_ptr<const Clip>;

// [count, 3, H, W]; each frame is a part.
std::shared_ptr<const FieldDecoder> decode_clip(const ClipPtr& clip);
// What follows it. Fields are looked up in `schema`; throw Error(invalid_argument) for a field that
// is no list, and for options out of range.
std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const MaskField& field);
std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const PictureField& field);
// [count] i64.
std::shared_ptr<const FieldDecoder> decode_frame_numbers(const ClipPtr& clip);
// [3, 3] f64, see ViewMatrix.
std::shared_ptr<const FieldDecoder> decode_clip_geometry(const ClipPtr& clip);
// [2] i64: height and width of its frames.
std::shared_ptr<const FieldDecoder> decode_frame_size(const ClipPtr& clip);

}  // namespace ffkit
