// Splits of pictures of which each has a file of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/image/geometry_steps.h>

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
// Adds annotation `k`, from 1 on, of the picture with the number `picture`, from 0 on: an id that
// no other has, the class and the box. The rest is the caller's to add.
void add_labelled(size_t picture, int64_t k, int64_t category, const BoxEdges& box,
                  CocoAnnotations& all);

}  // namespace ffkit
