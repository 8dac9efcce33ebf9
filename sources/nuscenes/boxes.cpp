#include "nuscenes/boxes.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <ffkit/nuscenes/classes.h>

#include "converter/input/sample_arrays.h"

namespace ffkit::nuscenes {
namespace {

Box box_of(const std::array<double, 10>& numbers) {
  return {.center = {numbers[0], numbers[1], numbers[2]},
          .size = {numbers[3], numbers[4], numbers[5]},
          .rotation = {numbers[6], numbers[7], numbers[8], numbers[9]}};
}

void set_texts(RecordBuilder& record, size_t field, const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  record.set_list(field, std::span(views));
}

}  // namespace

Vector3 box_velocity(const Tables& tables, Row annotation) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const AnnotationRows& all = tables.annotations;
  const bool has_prev = all.prev[annotation] != kNoRow;
  const bool has_next = all.next[annotation] != kNoRow;
  if (!has_prev && !has_next) return {kNan, kNan, kNan};
  const Row first = has_prev ? all.prev[annotation] : annotation;
  const Row last = has_next ? all.next[annotation] : annotation;
  const auto seconds = [&](Row row) {
    return 1e-6 * static_cast<double>(tables.samples.timestamp[all.sample[row]]);
  };
  const double max_time_diff = has_prev && has_next ? 2 * 1.5 : 1.5;
  const double time_diff = seconds(last) - seconds(first);
  // The devkit divides by 0 where the table has two annotations of one time.
  if (time_diff > max_time_diff) return {kNan, kNan, kNan};
  Vector3 velocity;
  for (size_t i = 0; i < 3; ++i) velocity[i] = (all.box[last][i] - all.box[first][i]) / time_diff;
  return velocity;
}

void set_boxes(const Tables& tables, Row sample, const PoseNumbers& lidar_calibration,
               const PoseNumbers& lidar_pose, RecordBuilder& record, size_t first_field,
               SampleBuffers& buffers) {
  const AnnotationRows& all = tables.annotations;
  const std::span<const Row> rows =
      std::span(all.order).subspan(all.first[sample], all.first[sample + 1] - all.first[sample]);
  const size_t n = rows.size();
  const auto length = static_cast<int64_t>(n);
  const Pose sensor_to_ego = make_pose(lidar_calibration);
  const Pose ego_to_global = make_pose(lidar_pose);
  std::vector<std::string> tokens;
  std::vector<std::string> instances;
  std::vector<std::string> categories;
  const auto global = new_array<double>(buffers, n * 10);
  const auto velocities = new_array<double>(buffers, n * 3);
  const auto lidar = new_array<float>(buffers, n * 9);
  const auto valid = new_array<uint8_t>(buffers, n);
  std::array<std::span<int64_t>, 5> integers;  // class, then the four counts and names
  for (auto& array : integers) array = new_array<int64_t>(buffers, n);
  for (size_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    tokens.push_back(to_string(all.token[row]));
    instances.push_back(to_string(all.instance[row]));
    categories.push_back(tables.categories[all.category[row]]);
    std::ranges::copy(all.box[row], &global[10 * i]);
    const Vector3 velocity = box_velocity(tables, row);
    std::ranges::copy(velocity, &velocities[3 * i]);
    Box box = box_of(all.box[row]);
    box.velocity = {velocity[0], velocity[1], 0};  // as mmdetection3d turns it
    box = move_back(move_back(box, ego_to_global), sensor_to_ego);
    std::ranges::transform(lidar_box_numbers(box), &lidar[9 * i],
                           [](double x) { return static_cast<float>(x); });
    valid[i] = all.num_lidar_points[row] + all.num_radar_points[row] > 0 ? 1 : 0;
    integers[0][i] = class_of_category(categories.back());
    integers[1][i] = all.num_lidar_points[row];
    integers[2][i] = all.num_radar_points[row];
    integers[3][i] = all.visibility[row];
    integers[4][i] = all.attribute[row];
  }
  size_t field = first_field;
  set_texts(record, field++, tokens);
  set_texts(record, field++, instances);
  set_texts(record, field++, categories);
  set_array<double>(record, field++, global, {length, 10});
  set_array<double>(record, field++, velocities, {length, 3});
  set_array<float>(record, field++, lidar, {length, 9});
  set_array<int64_t>(record, field++, integers[0], {length});
  set_array<uint8_t>(record, field++, valid, {length});
  for (size_t i = 1; i < integers.size(); ++i) {
    set_array<int64_t>(record, field++, integers[i], {length});
  }
}

}  // namespace ffkit::nuscenes
