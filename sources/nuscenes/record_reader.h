// Makes the records of nuScenes: keyframes, sweeps, maps. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "nuscenes/can_bus.h"
#include "nuscenes/listing.h"
#include "nuscenes/tables/tables.h"

namespace ffkit::nuscenes {

class RecordReader {
 public:
  // All must outlive this. `fields` is what `listing` was made for.
  RecordReader(const Tables& tables, const Listing& listing, const CanBus& can_bus,
               std::filesystem::path root, const KeyframeFields& fields, const ImageStorer& storer,
               const RadarFilter& radar_filter);

  const Schema& keyframe_schema() const { return keyframe_schema_; }
  const Schema& sweep_schema() const { return sweep_schema_; }
  const Schema& map_schema() const { return map_schema_; }

  // As Source::read(): a keyframe, a sweep, a map of `split`.
  void read_keyframe(const SplitListing& split, int64_t index, RecordBuilder& record,
                     SampleBuffers& buffers) const;
  void read_sweep(const SplitListing& split, int64_t index, RecordBuilder& record,
                  SampleBuffers& buffers) const;
  void read_map(const SplitListing& split, int64_t index, RecordBuilder& record,
                SampleBuffers& buffers) const;

 private:
  // Positions of a channel's fields.
  struct ChannelFields {
    size_t data = 0;  // picture or points
    size_t intrinsics = 0;
    size_t sensor_to_ego = 0;  // and the others behind it
    size_t sweeps = 0;         // 0: none
  };

  // `row`, of sample_data: the file must be what was listed.
  std::span<const std::byte> read_file(std::string_view name, SampleBuffers& buffers,
                                       Row row = kNoRow) const;
  // Runs `take`, which sets fields to what the file holds. A damaged file: an Error with its name
  // and what to do, or, where there may be such, a line of the report; the fields stay null then.
  // Returns whether they were set.
  template <typename Take>
  bool take_file(std::string_view name, SampleBuffers& buffers, const Take& take,
                 Row row = kNoRow) const;
  // Picture and intrinsics, or points, of a row of sample_data; null when its file is missing.
  // Returns the number of lidar points.
  size_t set_data(Row row, size_t data_field, size_t intrinsics_field, RecordBuilder& record,
                  SampleBuffers& buffers) const;
  void set_image(Row row, size_t image_field, size_t intrinsics_field, RecordBuilder& record,
                 SampleBuffers& buffers) const;
  void set_poses(Row row, size_t first_field, RecordBuilder& record) const;
  void set_channel(Row sample, uint8_t channel, RecordBuilder& record,
                   SampleBuffers& buffers) const;
  void set_labels(Row sample, size_t num_points, RecordBuilder& record,
                  SampleBuffers& buffers) const;

  const Tables& t_;
  const Listing& listing_;
  const CanBus& can_bus_;
  const std::filesystem::path root_;
  const ImageStorer& storer_;
  const DType lidar_dtype_;
  const RadarFilter radar_filter_;
  const Schema keyframe_schema_;
  const Schema sweep_schema_;
  const Schema map_schema_;
  std::array<ChannelFields, kNumChannels> channels_{};
  std::vector<uint8_t> taken_;  // channels
  size_t first_box_field_ = 0;
  size_t first_can_bus_field_ = 0;
};

}  // namespace ffkit::nuscenes
