// RootTruth: what a split of persons says of the roots, and RootEvaluation: figures of roots that
// were found for them.
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
  // Of the pictures that have a record; and how many there are in all of the set. Where a set says
  // what is valid.
  std::map<int64_t, std::vector<Point3>> valid_roots;
  std::optional<int64_t> num_valid_roots;

  bool has_any_truth() const;
};

// The unit of lengths before the camera in a split, by the set that it is of: "mm", or "m" of 3DPW;
// empty where no depth is known (MPII, MSCOCO), and of sets that the converter does not know.
std::string_view length_unit(const Manifest& manifest);

// Reads all but the pictures. Of a Dataset::chain() pictures are numbered anew, since two sets may
// have one with the same image_id; valid roots are known where all sets have them. Throws
// Error(invalid_argument) for a split without persons.
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

// The results file that the published code writes of the set: a JSON array with image_id, bbox and
// root_cam of each person; of MuPoTS with the score, of 3DPW with ann_id. Written under a temporary
// name. Throws Error(io).
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
// The entries of a file, in its order. Throws Error(not_found), and Error(corrupt) that names the
// entry that is wrong, or of a picture of which `truth` has no person.
std::vector<RootResult> read_root_results(const std::filesystem::path& file,
                                          const RootTruth& truth);
// The root of each person of `truth`, in its order; the entries may come in any. Of several persons
// in a picture each has the entry with its ann_id or its box, or in their order where entries have
// neither. Throws Error(corrupt), with `file`, where entries and persons do not belong together one
// by one.
std::vector<Point3> roots_of_persons(const std::vector<RootResult>& results, const RootTruth& truth,
                                     const std::filesystem::path& file);
// Figures of a file as the published code computes them: the average precision of the entries with
// their own scores, however many they are; errors of the persons whose root is known. Throws what
// roots_of_persons() throws where there is one, and Error(corrupt) for an entry without a score
// where they count.
RootEvaluation evaluate_results(const std::vector<RootResult>& results, const RootTruth& truth,
                                const std::filesystem::path& file, double threshold = 250);

}  // namespace ffkit::pose
