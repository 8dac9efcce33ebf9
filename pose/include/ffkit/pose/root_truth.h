// RootTruth: what a split of persons says of the roots, and RootEvaluation: figures of roots that were found for them.
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
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/geometry.h>
#include <ffkit/pose/root_metrics.h>

namespace ffkit::pose {

struct RootPerson {
  int64_t image_id = 0;
  int64_t annotation_id = 0;  // below 0: a detection, of which no truth is known
  std::string id;             // begins with the picture's file name
  Box box;                    // that is cropped
  Camera camera;
  Point3 root = {};  // before the camera
  bool has_truth = false;
  double score = 1;
};

struct RootTruth {
  std::string set;                  // "mupots"
  std::vector<RootPerson> persons;  // of the records, in their order
  // Of the pictures that have a record; and how many there are in all of the set. Where a set says what is valid.
  std::map<int64_t, std::vector<Point3>> valid_roots;
  std::optional<int64_t> num_valid_roots;

  bool has_any_truth() const;
};

// The unit of lengths before the camera in a split, by the set that it is of: "mm", or "m" of 3DPW; empty where no depth is known (MPII, MSCOCO), and of sets that the
// converter does not know.
std::string_view length_unit(const Manifest& manifest);

// Reads all but the pictures. Of a Dataset::chain() pictures are numbered anew, since two sets may have one with the same image_id; valid roots are known where all sets
// have them. Throws Error(invalid_argument) for a split without persons.
RootTruth read_root_truth(const Dataset& split);

struct RootEvaluation {
  std::optional<RootError> error;  // over the persons whose root is known; none: of none it is
  std::array<std::optional<RootError>, kNumActions> by_action;  // of Human3.6M
  std::optional<double> average_precision;  // where the set says which annotations are valid

  bool is_empty() const { return !error && !average_precision; }
};

// `found`: the root before the camera of each person of `truth`, in its order.
RootEvaluation evaluate_roots(const RootTruth& truth, const std::vector<Point3>& found,
                              double threshold = 250);

// The results file that the published code writes of the set: a JSON array with image_id, bbox and root_cam of each person; of MuPoTS with the score, of 3DPW with
// ann_id. Written under a temporary name. Throws Error(io).
void write_root_results(const std::filesystem::path& file, const RootTruth& truth,
                        const std::vector<Point3>& found);
// The roots in such a file, one for each person of `truth`. Throws Error(not_found), and Error(corrupt) that names the entry that is wrong, or is not of the
// person in its place.
std::vector<Point3> read_root_results(const std::filesystem::path& file, const RootTruth& truth);

}  // namespace ffkit::pose
