// The decoders behind keyframe_fields().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ffkit/loader/field_decoder.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

// Adds images, intrinsics and the matrices from the lidar to the cameras.
void add_camera_fields(const Schema& schema, const KeyframeOptions& options,
                       std::vector<BatchField>& fields);
std::shared_ptr<const FieldDecoder> decode_lidar_to_global(const Schema& schema,
                                                           const BevAugmentation& bev);
// Points of `channels`, `columns` numbers and the time lag each, in the frame of the keyframe's lidar.
std::shared_ptr<const FieldDecoder> decode_points(const Split& split,
                                                  const std::vector<std::string>& channels,
                                                  int64_t columns, const PointOptions& options,
                                                  const BevAugmentation& bev);
// Adds boxes and box_classes.
void add_box_fields(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
                    std::vector<BatchField>& fields);

}  // namespace ffkit::nuscenes
