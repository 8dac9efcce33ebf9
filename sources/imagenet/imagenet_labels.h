// What the labels of ImageNet's pictures are taken from: the devkit, Kaggle's lists, or ffkit's own
// table of classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "imagenet/imagenet_layout.h"
#include "imagenet/imagenet_lists.h"
#include "pictures/image_source.h"

namespace ffkit {

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
