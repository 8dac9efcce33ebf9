// Splits of pictures of which each has a file of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coco/annotated_pictures.h"

namespace ffkit {

// A split whose pictures have labels of their own: these pictures, below from.images, and classes,
// both numbered from 1. `stamps`: of the pictures, looked at where one is missing. Throws and notes
// as pictures_that_are_there(). Its `labels` and `beside` are the caller's to set.
AnnotatedSplit labelled_split(CocoListing from, std::vector<std::string> pictures,
                              const std::vector<std::string>& classes,
                              std::vector<FileStamp> stamps, bool allow_missing,
                              std::vector<std::string>& notes);
// The file at `path`, which need not be there.
FileBeside file_beside(std::filesystem::path path);
// Annotation `k`, from 1 on, of the picture with the number `picture`, from 0 on: an id that no
// other has.
int64_t labelled_id(size_t picture, int64_t k);

}  // namespace ffkit
