// Batches of where the vehicle is, without pictures.
#pragma once

#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

inline KeyframeOptions only_numbers() {
  KeyframeOptions options;
  options.cameras.channels.clear();
  options.lidar.is_on = false;
  options.motion = true;
  options.identity = true;
  return options;
}

inline LoaderOptions loading(const Split& split, const KeyframeOptions& options,
                             int64_t batch_size) {
  LoaderOptions out{.batch_size = batch_size, .image_field = "", .label_field = ""};
  out.num_threads = 2;
  out.sampler = {.order = Order::sequential, .tail = Tail::exact};
  out.fields = keyframe_fields(split, options);
  return out;
}

inline const double* motion_of(const Batch& batch) {
  return static_cast<const double*>(batch.field("motion").data);
}

}  // namespace ffkit::nuscenes
