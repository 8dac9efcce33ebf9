// Evaluations of root joints in three dimensions, as data/Human36M/Human36M.py and
// data/MuPoTS/MuPoTS_eval.py of 3DMPPE_ROOTNET_RELEASE compute them. Plain values and pure
// functions: thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ffkit/pose/geometry.h>

namespace ffkit::pose {

// The place in front of the camera of a root that the network found at (x, y, depth) of its map of
// map_width x map_height cells. `box` is what was cropped.
Point3 root_of_map(const Point3& on_map, const Box& box, const Camera& camera, double map_width,
                   double map_height);

// The mean distance between found and true roots (MRPE), and its means along each axis, in the
// set's unit of length.
struct RootError {
  double total = 0;
  double x = 0, y = 0, z = 0;
  int64_t count = 0;
};
// Throws Error(invalid_argument) if there is none, or if there are not as many of both.
RootError root_error(std::span<const Point3> found, std::span<const Point3> truth);

// Human3.6M's 15 actions. A file name has an action's number behind "act_", counted from 2.
inline constexpr int kNumActions = 15;
const char* action_name(int action);
// The action that a file name has: 0 .. 14, or -1 without one.
int action_of(const std::string& file_name);

struct FoundRoot {
  int64_t image_id = 0;
  Point3 root = {};
  double score = 1;
};
// The average precision of roots. By descending score, each found root takes the nearest true root
// of its picture. It is right if that one is nearer than `threshold` and not taken. Roots found in
// pictures without a true root do not count. The result is the sum over n >= 1 of precision[n] *
// (recall[n] - recall[n - 1]): the first step does not count, as in the published code. `num_truth`
// counts the true roots of all pictures, also of those in which nothing was found. Throws
// Error(invalid_argument) if it is below 1.
double root_average_precision(std::vector<FoundRoot> found,
                              const std::map<int64_t, std::vector<Point3>>& truth,
                              int64_t num_truth, double threshold = 250);

}  // namespace ffkit::pose
