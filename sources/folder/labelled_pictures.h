// Pictures whose labels stand in lists: finds the pictures that the lists name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/sources/folder.h>

#include "pictures/image_source.h"

namespace ffkit {

// The splits of the pictures in `set.path`, by options.labels: each list is the split that it is
// called after, or that stands before it ("val=FILE"), else "train". A list that is not in the
// folder itself may be in the folders of its splits, as Hugging Face's metadata.csv is.
//
// A picture is found by its path, or the end of it, with or without its ending. Pictures that no
// list names are left out, with a note. `set.classes` are those of all lists, unless they are
// given. Throws Error(not_found) for names without a picture, unless options.allow_missing, and
// Error(invalid_argument) for a name of two pictures and for labels that are no classes.
void add_labelled_splits(const ImageFolderOptions& options, ImageSet& set);

}  // namespace ffkit
