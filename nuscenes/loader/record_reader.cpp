#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

std::string name_of(const std::string& channel, const char* field) {
  return channel.empty() ? field : channel_field(channel, field);
}

}  // namespace

SensorFields::SensorFields(const Schema& schema, const std::string& channel)
    : sensor_to_ego(schema.require(name_of(channel, channel::kSensorToEgo))),
      ego_to_global(schema.require(name_of(channel, channel::kEgoToGlobal))),
      timestamp(schema.require(name_of(channel, channel::kTimestamp))) {}

SensorState read_state(const RecordView& record, const SensorFields& fields) {
  return {.sensor_to_ego = read_pose(record.field(fields.sensor_to_ego)),
          .ego_to_global = read_pose(record.field(fields.ego_to_global)),
          .timestamp = record.scalar<int64_t>(fields.timestamp)};
}

}  // namespace ffkit::nuscenes
