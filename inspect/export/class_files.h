// Files of classes: a class a line, in the order of the labels.
#pragma once

#include <filesystem>
#include <vector>

#include <ffkit/format/dataset.h>

#include "export/exported.h"

namespace ffkit {

// Writes into `folder` what classes the splits have: classes.txt with their identifiers, which
// `ffconvert --classes` takes, and class_names.txt where they have readable names. Where splits
// differ, each has its own: classes-<split>.txt. Adds their names, and what cannot be said in them,
// to `exported`. Throws Error(io).
void write_class_files(const std::vector<Dataset>& splits, const std::filesystem::path& folder,
                       Exported& exported);

}  // namespace ffkit
