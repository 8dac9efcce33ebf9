// Pictures of a training run. Charts: lines over a common horizontal axis, in panels one above the
// other.
//
//   | title                          |
//   | 7 |\___            -- train    |
//   | 5 |    \____       -- val      |
//   | 3 |_________\____              |
//   |   0    1000    2000   step     |
//
// And a confusion matrix, of results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "draw/canvas.h"

namespace ffkit {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

struct ChartLine {
  std::string name;  // in the legend
  Color color{};
  bool has_marks = false;          // a square at every point: for few of them
  std::vector<ChartPoint> points;  // by x; finite, or nan: marked by a cross at the top
};

struct ChartPanel {
  std::string title;
  std::vector<ChartLine> lines;  // those without points are left out
  bool from_zero = false;        // the vertical axis begins at 0 at the latest
  bool is_log = false;           // a step up is a factor; what is not above 0 is marked as nan is
};

struct ChartOptions {
  int width = 1000;        // pixels, of everything
  int panel_height = 260;  // pixels
  std::string x_name;      // under the last panel
};

// Panels without any points are left out. Where there are more points than pixels, each pixel gets
// the mean of its points.
Canvas make_chart(const std::string& title, const std::vector<ChartPanel>& panels,
                  const ChartOptions& options);

// Round numbers, about `count` of them, that cover low .. high (low <= high, finite): the first at
// most `low`, the last at least `high`.
std::vector<double> make_ticks(double low, double high, int count);

struct ConfusionCounts {
  std::vector<std::string> classes;
  // A row for each label, a column for each class that was found.
  std::vector<std::vector<int64_t>> matrix;
};

// Reads what fftrain --confusion wrote as .json. Throws Error(not_found), Error(corrupt).
ConfusionCounts read_confusion(const std::filesystem::path& file);

// A square for each pair of classes, the darker the larger its share of the row; what is right is
// green, what is wrong red. Rows are the truth, columns what was found. Names and counts where
// there is room: up to 40 classes; else the most frequent mistakes below it.
Canvas draw_confusion(const ConfusionCounts& counts);

}  // namespace ffkit
