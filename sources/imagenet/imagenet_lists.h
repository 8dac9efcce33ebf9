// ImageNet's classes and labels, as the development kit and Kaggle's copy have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imagenet/imagenet_layout.h"
#include "pictures/image_source.h"

namespace ffkit {

// Devkit: ImageNet's classes and the labels of its validation set, from ILSVRC2012_devkit_t12 as an
// archive or a folder.

inline constexpr const char* kDevkitArchive = "ILSVRC2012_devkit_t12.tar.gz";

// The leaf synsets (num_children == 0) of meta.mat, sorted by wnid: position i is class i.
struct Synsets {
  std::vector<std::string> wnids;          // "n01440764"
  std::vector<std::string> words;          // "tench, Tinca tinca"
  std::map<int64_t, int64_t> label_of_id;  // ILSVRC2012_ID to class

  // Class of `wnid`, or -1.
  int64_t label_of(const std::string& wnid) const;
};

// Parses data/meta.mat (a MATLAB level 5 file with the struct array `synsets`). `origin` stands for
// it in messages; throws Error(corrupt) when it is not what it should be.
Synsets parse_meta_mat(std::span<const std::byte> bytes, const std::string& origin);

// One ILSVRC2012_ID a line; throws Error(corrupt) naming the line for anything else and for an id
// without class.
std::vector<int64_t> parse_ground_truth(std::string_view text, const Synsets& synsets,
                                        const std::string& origin);

struct Devkit {
  std::filesystem::path path;  // the archive or the folder
  Synsets synsets;
  std::vector<int64_t> val_labels;  // of ILSVRC2012_val_00000001, ..._00000002, ...
};

// The devkit in `folder`: ILSVRC2012_devkit_t12.tar.gz or ILSVRC2012_devkit_t12/; nothing when
// there is neither.
std::optional<Devkit> find_devkit(const std::filesystem::path& folder);

// The lists that come with Kaggle's copy of ImageNet (CLS-LOC): LOC_synset_mapping.txt and
// LOC_val_solution.csv.

// Lines "n01440764 tench, Tinca tinca", in any order: class i is the i-th wnid when sorted.
// `origin` stands for the file in messages; throws Error(corrupt) naming the line.
Synsets parse_synset_mapping(std::string_view text, const std::string& origin);

// Lines "ILSVRC2012_val_00000001,n03995372 85 1 499 272 ...", one wnid and box after the other, all
// of the same class, below the heading "ImageId,PredictionString". Returns the class of each
// picture by its name without ending; throws Error(corrupt) naming the line.
std::map<std::string, int64_t> parse_val_solution(std::string_view text, const Synsets& synsets,
                                                  const std::string& origin);

// What the labels of ImageNet's pictures are taken from: the devkit, Kaggle's lists, or ffkit's own
// table of classes.

class ImageNetLabels {
 public:
  // Looks for the lists beside the pictures. Throws Error for lists that are damaged.
  explicit ImageNetLabels(const ImageNetLayout& layout);

  const Synsets& classes() const { return classes_; }
  // What classes() come from: "the devkit", "LOC_synset_mapping.txt", "ffkit's table".
  const std::string& origin() const { return origin_; }
  // The class of a class folder or archive; throws Error(invalid_argument) naming it and `where` it
  // is.
  int64_t label_of(const std::string& wnid, const std::filesystem::path& where) const;

  struct ValLabels {
    std::string origin;       // what they come from: "LOC_val_solution.csv" or "the devkit"
    int64_t num_missing = 0;  // labels whose picture is not there
  };
  // Sets the labels of validation pictures that lie flat, by LOC_val_solution.csv, which goes by
  // names, or by the devkit, whose line i is for the picture ILSVRC2012_val_<i>. `where` are the
  // pictures. Throws Error(not_found) without either and for a picture that the former lacks, and
  // Error(invalid_argument) when the devkit has labels for more pictures, unless `allow_partial`,
  // or a picture has no such name.
  ValLabels label_val(std::vector<ImageEntry>& entries, const std::filesystem::path& where,
                      bool allow_partial) const;

 private:
  std::optional<Devkit> devkit_;
  std::optional<std::filesystem::path> val_solution_;
  Synsets classes_;
  std::string origin_;
};

}  // namespace ffkit
