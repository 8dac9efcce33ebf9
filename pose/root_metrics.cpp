#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <ffkit/pose/root_metrics.h>

#include "base/make_error.h"

namespace ffkit::pose {
namespace {

constexpr std::array<const char*, kNumActions> kActions = {
    "Directions", "Discussion", "Eating",  "Greeting",    "Phoning",
    "Posing",     "Purchases",  "Sitting", "SittingDown", "Smoking",
    "Photo",      "Waiting",    "Walking", "WalkDog",     "WalkTogether"};

double distance(const Point3& a, const Point3& b) {
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

Point3 root_of_map(const Point3& on_map, const Box& box, const Camera& camera, double map_width,
                   double map_height) {
  return pixel_to_camera({on_map[0] / map_width * box.width + box.x,
                          on_map[1] / map_height * box.height + box.y, on_map[2]},
                         camera);
}

RootError root_error(std::span<const Point3> found, std::span<const Point3> truth) {
  if (found.size() != truth.size() || found.empty()) {
    throw error_of(ErrorCode::invalid_argument, "{} roots cannot be compared with {}", found.size(),
                   truth.size());
  }
  RootError sum{.count = std::ssize(found)};
  for (size_t i = 0; i < found.size(); ++i) {
    sum.total += distance(found[i], truth[i]);
    sum.x += std::abs(found[i][0] - truth[i][0]);
    sum.y += std::abs(found[i][1] - truth[i][1]);
    sum.z += std::abs(found[i][2] - truth[i][2]);
  }
  const auto count = static_cast<double>(sum.count);
  return {sum.total / count, sum.x / count, sum.y / count, sum.z / count, sum.count};
}

const char* action_name(int action) {
  return kActions.at(action);
}

int action_of(const std::string& file_name) {
  const size_t at = file_name.find("act_");
  if (at == std::string::npos || at + 6 > file_name.size()) return -1;
  const char tens = file_name[at + 4], ones = file_name[at + 5];
  if (tens < '0' || tens > '9' || ones < '0' || ones > '9') return -1;
  const int action = 10 * (tens - '0') + (ones - '0') - 2;
  return action >= 0 && action < kNumActions ? action : -1;
}

double root_average_precision(std::vector<FoundRoot> found,
                              const std::map<int64_t, std::vector<Point3>>& truth,
                              int64_t num_truth, double threshold) {
  if (num_truth < 1) {
    throw Error(ErrorCode::invalid_argument, "has no valid annotation to evaluate against");
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundRoot& a, const FoundRoot& b) { return a.score > b.score; });
  std::map<int64_t, std::vector<bool>> taken;
  int64_t num_right = 0, num_counted = 0;
  double sum = 0;
  double recall = 0;
  for (const FoundRoot& one : found) {
    const auto picture = truth.find(one.image_id);
    if (picture == truth.end() || picture->second.empty()) continue;
    const std::vector<Point3>& roots = picture->second;
    std::vector<bool>& is_taken = taken[one.image_id];
    is_taken.resize(roots.size());
    size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < roots.size(); ++i) {
      const double d = distance(one.root, roots[i]);
      if (d < least) {
        least = d;
        nearest = i;
      }
    }
    if (least < threshold && !is_taken[nearest]) {
      is_taken[nearest] = true;
      ++num_right;
    }
    ++num_counted;
    const double recall_now = static_cast<double>(num_right) / static_cast<double>(num_truth);
    if (num_counted > 1) {
      sum +=
          static_cast<double>(num_right) / static_cast<double>(num_counted) * (recall_now - recall);
    }
    recall = recall_now;
  }
  return sum;
}

}  // namespace ffkit::pose
