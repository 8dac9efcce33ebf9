// The decoders behind keyframe_fields().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ffkit/loader/field_decoder.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

// Adds pictures, intrinsics and the matrices from the lidar to the cameras.
void add_camera_fields(const Schema& schema, const KeyframeOptions& options,
                       std::vector<BatchField>& fields);
std::shared_ptr<const FieldDecoder> decode_lidar_to_global(const Schema& schema,
                                                           const BevAugmentation& bev);
// Points of `channels`, `columns` numbers and the time lag each, in the frame of the keyframe's
// lidar. `points` is the lidar's or the radars' of `options`.
std::shared_ptr<const FieldDecoder> decode_points(const Split& split,
                                                  const std::vector<std::string>& channels,
                                                  int64_t columns, const PointOptions& points,
                                                  const KeyframeOptions& options);
// [18] f64 by options.can_bus, which is not none. Throws Error(not_found) for a set without CAN bus
// poses.
std::shared_ptr<const FieldDecoder> decode_can_bus(const Dataset& keyframes, CanBusRule rule);
// [18] f64, KeyframeOptions::motion. A set without CAN bus poses gives zeros for what comes from
// them.
std::shared_ptr<const FieldDecoder> decode_motion(const Dataset& keyframes, CanBusRule rule);
// Adds sample_token, scene_token and frame_index. `keyframes` is the whole split.
void add_identity_fields(const Dataset& keyframes, std::vector<BatchField>& fields);
// Adds boxes and box_classes.
void add_box_fields(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
                    std::vector<BatchField>& fields);

}  // namespace ffkit::nuscenes
