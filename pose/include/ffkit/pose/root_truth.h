// RootTruth: the true roots of a split of persons. RootEvaluation: metrics of the roots that a
// network found.
//
//   split ─▶ read_root_truth() ─┐
//                               ├─▶ evaluate_roots() ─▶ MRPE, AP
//   network, or a results file ─┘
//
// Plain values and pure functions: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/geometry.h>

namespace ffkit::pose {

// Evaluations of root joints in three dimensions, as data/Human36M/Human36M.py and
// data/MuPoTS/MuPoTS_eval.py of 3DMPPE_ROOTNET_RELEASE compute them. Plain values and pure
// functions: thread-safe.

// Converts a root that the network found at (x, y, depth) of its map of map_width x map_height
// cells to camera coordinates. `box` is the crop.
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
// The average precision of roots. By descending score, each found root is matched with the nearest
// true root of its picture. It is right if that is nearer than `threshold` and not yet matched.
// Found roots in pictures without a true root do not count. The result is the sum over n >= 1 of
// precision[n] * (recall[n] - recall[n - 1]): the first step does not count, as in the published
// code. `num_truth` counts the true roots of all pictures, also of those in which nothing was
// found. Throws Error(invalid_argument) if it is below 1.
double root_average_precision(std::vector<FoundRoot> found,
                              const std::map<int64_t, std::vector<Point3>>& truth,
                              int64_t num_truth, double threshold = 250);

struct RootPerson {
  int64_t image_id = 0;
  int64_t annotation_id = 0;  // below 0: a detection; its true root is not known
  std::string id;             // begins with the picture's file name
  Box box;                    // what is cropped
  Camera camera;
  Point3 root = {};  // in front of the camera
  bool has_truth = false;
  double score = 1;
};

struct RootTruth {
  std::string set;                  // "mupots"
  std::vector<RootPerson> persons;  // one a record, in the order of the records
  // In a set that has is_valid: the valid roots of each picture with a record, and their number in
  // the whole set.
  std::map<int64_t, std::vector<Point3>> valid_roots;
  std::optional<int64_t> num_valid_roots;
};

// The unit of a split's lengths: "m" for 3DPW, "mm" for other sets with depth. Empty for sets
// without depth (MPII, MSCOCO) and for unknown sets.
std::string_view length_unit(const Manifest& manifest);

// Reads all but the pictures. In a Dataset::chain(), pictures get new numbers, because two sets may
// have the same image_id; valid roots are known if all sets have them. Throws
// Error(invalid_argument) for a split without persons.
RootTruth read_root_truth(const Dataset& split);

struct RootEvaluation {
  std::optional<RootError> error;  // over the persons whose root is known; nothing without any
  std::array<std::optional<RootError>, kNumActions> by_action;  // Human3.6M only
  std::optional<double> average_precision;                      // of a set that has is_valid

  [[nodiscard]] bool is_empty() const noexcept { return !error && !average_precision; }
};

// `found` has a root for each person of `truth`, in its order.
RootEvaluation evaluate_roots(const RootTruth& truth, const std::vector<Point3>& found,
                              double threshold = 250);

// Writes the results file of the published code: a JSON array with image_id, bbox and root_cam of
// each person, and with the score (MuPoTS) or ann_id (3DPW). It has a temporary name until it is
// complete. Throws Error(io).
void write_root_results(const std::filesystem::path& file, const RootTruth& truth,
                        const std::vector<Point3>& found);
// An entry of such a file.
struct RootResult {
  int64_t image_id = 0;
  Point3 root = {};
  std::optional<Box> box;
  std::optional<int64_t> annotation_id;  // "ann_id"
  std::optional<double> score;
};
// The entries of a file, in its order. Throws Error(not_found) without the file, and Error(corrupt)
// that names an entry that is wrong or whose picture has no person in `truth`.
std::vector<RootResult> read_root_results(const std::filesystem::path& file,
                                          const RootTruth& truth);
// The root of each person of `truth`, in its order; the entries may have any order. Persons of one
// picture are matched by ann_id or box, or by their order if entries have neither. Throws
// Error(corrupt) with `file` if entries and persons do not match one by one.
std::vector<Point3> roots_of_persons(const std::vector<RootResult>& results, const RootTruth& truth,
                                     const std::filesystem::path& file);
// The metrics of a file, like the published code: the average precision of all entries by their
// scores, and the error of persons with a known root. Throws Error(corrupt) for an entry without a
// score if scores count, and like roots_of_persons() if roots are known.
RootEvaluation evaluate_results(const std::vector<RootResult>& results, const RootTruth& truth,
                                const std::filesystem::path& file, double threshold = 250);

}  // namespace ffkit::pose
