// PictureSource: the pictures in a folder as batches, without a data set: for predictions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/image/image_options.h>
#include <ffkit/trainer/batch_source.h>

#include "image/views/picture_views.h"

namespace ffkit {

struct PictureFiles {
  std::filesystem::path folder;
  std::vector<std::string> names;  // relative to the folder, with '/', in order
  int64_t num_others = 0;          // files that are no pictures by the ending of their names
  std::string other;               // one of them
  int64_t num_not_read = 0;        // pictures, by the ending, that cannot be decoded here
  std::string not_read;            // one of them

  // A sentence on what is left out, without its full stop; empty where nothing is.
  std::string left_out() const;
};

// Looks through the folder and all folders in it; what begins with a dot is left out. Of a picture
// that is named itself, that one. Throws Error(not_found), Error(io).
PictureFiles list_pictures(const std::filesystem::path& folder);

// The field "image" [N,3,H,W] f32 on the device; record_indices are numbers in `names`. Every
// process has its share. With BadSamples::skip a picture that cannot be decoded is left out, which
// is said on stderr; a batch may have none left. Otherwise it is an Error(corrupt) or
// Error(unsupported) with its path. Not thread-safe.
class PictureSource final : public BatchSource {
 public:
  PictureSource(std::filesystem::path folder, std::vector<std::string> names,
                const ImageOptions& image, const TrainOptions& options, const ProcessPlace& place,
                c10::Device device);

  int64_t num_batches() const override;
  void set_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override { state_ = state; }
  LoaderState state() const override { return state_; }
  std::optional<DeviceBatch> next() override;
  double wait_seconds() const override { return wait_seconds_; }

 private:
  // On the CPU.
  DeviceBatch read(int64_t begin);
  void read_ahead();

  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::vector<int64_t> own_;  // numbers of this process's pictures
  ImageOptions image_;
  int64_t batch_size_;
  bool skips_bad_;
  c10::Device device_;
  std::vector<ImagePipeline> pipelines_;  // of the threads
  int64_t next_ = 0;
  int64_t num_bad_ = 0;
  LoaderState state_;
  double wait_seconds_ = 0;
  std::future<DeviceBatch> ahead_;  // last: it waits when it ends, before what it uses goes
};

}  // namespace ffkit
