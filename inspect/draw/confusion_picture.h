// A confusion matrix as a picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "draw/canvas.h"

namespace ffkit {

struct ConfusionCounts {
  std::vector<std::string> classes;
  // A row for each label, a column for each class that was found.
  std::vector<std::vector<int64_t>> matrix;
};

// Reads what fftrain --confusion wrote as .json. Throws Error(not_found), Error(corrupt).
ConfusionCounts read_confusion(const std::filesystem::path& file);

// A square for each pair of classes, the darker the larger its share of the row; what is right is
// green, what is wrong red. Names and counts where there is room: up to 40 classes.
Canvas draw_confusion(const ConfusionCounts& counts);

}  // namespace ffkit
