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

// Where a root is before the camera that the network found at (x, y) of its map of map_width x
// map_height cells, at a depth. `box`: what was cropped.
Point3 root_of_map(const Point3& on_map, const Box& box, const Camera& camera, double map_width,
                   double map_height);

// Means over the persons of the distance between found and true root (MRPE) and of its parts, in
// the set's unit of length.
struct RootError {
  double total = 0;
  double x = 0, y = 0, z = 0;
  int64_t count = 0;
};
// As many of both, at least one; throws Error(invalid_argument) otherwise.
RootError root_error(std::span<const Point3> found, std::span<const Point3> truth);

// Human3.6M's 15 actions; a file name has the number of one behind "act_", from 2 on.
inline constexpr int kNumActions = 15;
const char* action_name(int action);
// 0 .. 14, of a file's name; -1: it names none.
int action_of(const std::string& file_name);

struct FoundRoot {
  int64_t image_id = 0;
  Point3 root = {};
  double score = 1;
};
// Average precision of roots. By descending score, each found root takes the nearest true one of
// its picture: right if nearer than `threshold` and not taken before. What is found in pictures
// without a true root does not count. The sum over n >= 1 of precision[n] * (recall[n] - recall[n -
// 1]): the step of the first one does not count, as published. `num_truth`: true roots of all
// pictures, also of those in which nothing was found; >= 1, or Error(invalid_argument).
double root_average_precision(std::vector<FoundRoot> found,
                              const std::map<int64_t, std::vector<Point3>>& truth,
                              int64_t num_truth, double threshold = 250);

}  // namespace ffkit::pose
