#include "draw/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr Color kChartBlack = {30, 30, 30};
constexpr Color kChartGrid = {225, 225, 225};
constexpr int kChartMargin = 10;
constexpr int kLeft = 100;  // room for the numbers of the vertical axis
constexpr Color kWrong = {190, 30, 30};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  // Where `value` lies between low and high, 0 .. 1.
  double place(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

bool has_points(const ChartPanel& panel) {
  return std::any_of(panel.lines.begin(), panel.lines.end(),
                     [](const ChartLine& line) { return !line.points.empty(); });
}

std::string tick_text(double value) {
  if (value != 0 && std::fabs(value) >= 1e6) return fmt::format("{:g}M", value / 1e6);
  return fmt::format("{:g}", value);
}

// At most one point a pixel.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points, const Range& range,
                                 int width) {
  std::vector<ChartPoint> out;
  int column = -1;
  int64_t count = 0;
  for (const ChartPoint& p : points) {
    const int at = int(range.place(p.x) * width);
    if (at != column) {
      out.push_back(p);
      column = at;
      count = 1;
    } else {
      ++count;
      out.back().x += (p.x - out.back().x) / double(count);
      out.back().y += (p.y - out.back().y) / double(count);
    }
  }
  return out;
}

// Powers of ten as their logarithms, and 2 and 5 times them where there are few.
std::vector<double> log_ticks(double low, double high) {
  const double first = std::floor(low + 1e-9);
  const double last = std::max(first + 1, std::ceil(high - 1e-9));
  const bool is_short = last - first < 3;
  const double step = std::ceil((last - first) / 8);
  std::vector<double> ticks;
  for (double power = first; power < last + step; power += step) {
    ticks.push_back(power);
    if (!is_short || power >= last) continue;
    for (const double factor : {2.0, 5.0}) ticks.push_back(power + std::log10(factor));
  }
  return ticks;
}

// `box` is the area between the axes.
void draw_axes(Canvas& canvas, const Rect& box, const std::vector<double>& x_ticks,
               const std::vector<double>& y_ticks, const Range& x_range, const Range& y_range,
               bool is_log) {
  for (const double tick : y_ticks) {
    const int y = box.y + int(std::lround((1 - y_range.place(tick)) * box.height));
    canvas.fill({box.x, y, box.width, 1}, kChartGrid);
    const std::string text = tick_text(is_log ? std::pow(10.0, tick) : tick);
    draw_text(canvas, box.x - 8 - text_width(text, kText), y - 7, text, kText, kChartBlack);
  }
  for (const double tick : x_ticks) {
    if (tick < x_range.low || tick > x_range.high) continue;
    const int x = box.x + int(std::lround(x_range.place(tick) * box.width));
    canvas.fill({x, box.y, 1, box.height}, kChartGrid);
    const std::string text = tick_text(tick);
    const int left =
        std::min(x - text_width(text, kText) / 2, canvas.width() - text_width(text, kText) - 2);
    draw_text(canvas, left, box.y + box.height + 6, text, kText, kChartBlack);
  }
  canvas.fill({box.x, box.y, 1, box.height}, kChartBlack);
  canvas.fill({box.x, box.y + box.height, box.width, 1}, kChartBlack);
}

void draw_panel(Canvas& canvas, const ChartPanel& panel, const Rect& box, const Range& x_range) {
  // In units of the axis; what it does not have is not finite there.
  const auto on_axis = [&](double y) { return panel.is_log ? std::log10(y) : y; };
  Range values;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& p : line.points) {
      if (std::isfinite(on_axis(p.y))) values.add(on_axis(p.y));
    }
  }
  if (values.is_empty()) values = {0, 1};
  if (panel.from_zero) values.low = std::min(0.0, values.low);
  const std::vector<double> y_ticks =
      panel.is_log ? log_ticks(values.low, values.high) : make_ticks(values.low, values.high, 5);
  const Range y_range{y_ticks.front(), y_ticks.back()};
  draw_axes(canvas, box, make_ticks(x_range.low, x_range.high, 8), y_ticks, x_range, y_range,
            panel.is_log);

  // Lines along an axis are as thick as others.
  const Rect around{box.x - 2, box.y - 2, box.width + 4, box.height + 4};
  int legend_x = box.x + text_width(panel.title, kText) + 24;
  draw_text(canvas, box.x, box.y - kText - 4, panel.title, kText, kChartBlack);
  for (const ChartLine& line : panel.lines) {
    if (line.points.empty()) continue;
    const auto to_x = [&](double x) { return box.x + x_range.place(x) * box.width; };
    const auto to_y = [&](double y) { return box.y + (1 - y_range.place(y)) * box.height; };
    std::vector<ChartPoint> shown;
    int64_t num_marked = 0;
    for (const ChartPoint& p : line.points) {
      if (std::isfinite(on_axis(p.y))) {
        shown.push_back({p.x, on_axis(p.y)});
        continue;
      }
      ++num_marked;
      const double x = to_x(p.x);
      for (const int way : {-5, 5}) {
        canvas.draw_line(around, x - 5, box.y + 5 - way, x + 5, box.y + 5 + way, kWrong, 2);
      }
    }
    const std::vector<ChartPoint> points = thin_out(shown, x_range, box.width);
    for (size_t i = 0; i < points.size(); ++i) {
      const ChartPoint& from = points[i > 0 ? i - 1 : 0];
      canvas.draw_line(around, to_x(from.x), to_y(from.y), to_x(points[i].x), to_y(points[i].y),
                       line.color, 2);
      if (line.has_marks || points.size() == 1) {
        canvas.fill({int(to_x(points[i].x)) - 2, int(to_y(points[i].y)) - 2, 6, 6}, line.color);
      }
    }
    canvas.fill({legend_x, box.y - kText + 1, 24, 4}, line.color);
    const std::string name =
        num_marked == 0 ? line.name
                        : fmt::format("{} (x: {} {})", line.name, num_marked,
                                      panel.is_log ? "not above 0, nan or inf" : "nan or inf");
    draw_text(canvas, legend_x + 30, box.y - kText - 4, name, kText, kChartBlack);
    legend_x += 30 + text_width(name, kText) + 24;
  }
}

constexpr Color kRight = {0, 120, 60};
constexpr int kMatrixMargin = 12;
constexpr size_t kMostNames = 40;
constexpr int kLongestName = 260;  // pixels
constexpr int kMostPixels = 4000;
constexpr size_t kMostPairs = 30;  // that are listed of many classes

Color mixed(Color color, double share) {
  Color out{};
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<uint8_t>(255 - share * (255 - color[i]) + 0.5);
  return out;
}

std::string title_of(const ConfusionCounts& counts) {
  int64_t all = 0, right = 0;
  for (size_t i = 0; i < counts.matrix.size(); ++i) {
    const std::vector<int64_t>& row = counts.matrix[i];
    all += std::accumulate(row.begin(), row.end(), int64_t{0});
    right += row[i];
  }
  const double share = all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
  return fmt::format("{} of {} right ({:.1f} %)", right, all, 100 * share);
}

// "cat, found as dog: 17 (3.4 %)", the most frequent mistakes first.
std::vector<std::string> worst_pairs(const ConfusionCounts& counts) {
  struct Pair {
    int64_t count;
    size_t truth, found;
  };
  std::vector<Pair> pairs;
  for (size_t y = 0; y < counts.classes.size(); ++y) {
    for (size_t x = 0; x < counts.classes.size(); ++x) {
      if (x != y && counts.matrix[y][x] > 0) pairs.push_back({counts.matrix[y][x], y, x});
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(kMostPairs, pairs.size()); ++i) {
    const std::vector<int64_t>& row = counts.matrix[pairs[i].truth];
    const auto sum = static_cast<double>(std::accumulate(row.begin(), row.end(), int64_t{0}));
    lines.push_back(fmt::format("{}, found as {}: {} ({:.1f} %)", counts.classes[pairs[i].truth],
                                counts.classes[pairs[i].found], pairs[i].count,
                                100 * static_cast<double>(pairs[i].count) / sum));
  }
  if (pairs.size() > kMostPairs) {
    lines.push_back(fmt::format("and {} more pairs", pairs.size() - kMostPairs));
  }
  return lines;
}

// The text from the bottom to the top, with its end above `bottom`.
void draw_upwards(Canvas& canvas, int x, int bottom, const std::string& text) {
  Canvas line(std::max(1, text_width(text, kSmallText)), kSmallText, kWhite);
  draw_text(line, 0, 0, text, kSmallText, kChartBlack);
  cv::Mat turned;
  cv::rotate(line.pixels(), turned, cv::ROTATE_90_COUNTERCLOCKWISE);
  const int height = std::min(turned.rows, bottom);
  if (x < 0 || x + turned.cols > canvas.width() || height <= 0) return;
  turned.rowRange(turned.rows - height, turned.rows)
      .copyTo(canvas.pixels()(cv::Rect(x, bottom - height, turned.cols, height)));
}

std::string one_line(const std::string& name, int width) {
  const std::vector<std::string> lines = wrap_text(name, width, kSmallText, 1);
  return lines.empty() ? "" : lines.front();
}

}  // namespace

std::vector<double> make_ticks(double low, double high, int count) {
  if (high <= low) {  // one value: room on both sides
    const double room = low == 0 ? 1 : std::fabs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

Canvas make_chart(const std::string& title, const std::vector<ChartPanel>& panels,
                  const ChartOptions& options) {
  std::vector<const ChartPanel*> shown;
  Range x_range;
  for (const ChartPanel& panel : panels) {
    if (!has_points(panel)) continue;
    shown.push_back(&panel);
    for (const ChartLine& line : panel.lines) {
      for (const ChartPoint& p : line.points) x_range.add(p.x);
    }
  }
  if (!x_range.is_empty()) x_range.low = std::min(0.0, x_range.low);
  const int top = 2 * kChartMargin + kText;
  const int height = top + int(shown.size()) * options.panel_height + kChartMargin + kText;
  Canvas canvas(options.width, height, kWhite);
  draw_text(canvas, kChartMargin, kChartMargin, title, kText, kChartBlack);
  for (size_t i = 0; i < shown.size(); ++i) {
    const int y = top + int(i) * options.panel_height;
    // Above the axes the panel's title, below them the numbers of the horizontal one.
    const Rect box{kLeft, y + kText + kChartMargin, options.width - kLeft - 2 * kChartMargin,
                   options.panel_height - 2 * kText - 2 * kChartMargin};
    draw_panel(canvas, *shown[i], box, x_range);
  }
  draw_text(canvas, kLeft, height - kText - 2, options.x_name, kText, kChartBlack);
  return canvas;
}

ConfusionCounts read_confusion(const std::filesystem::path& file) {
  const std::string text = read_whole_text(file);
  ConfusionCounts out;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    json.at("classes").get_to(out.classes);
    json.at("matrix").get_to(out.matrix);
  } catch (const nlohmann::json::exception&) {
    out = {};
  }
  const bool is_square = !out.classes.empty() && out.matrix.size() == out.classes.size() &&
                         std::ranges::all_of(out.matrix, [&](const std::vector<int64_t>& row) {
                           return row.size() == out.classes.size() &&
                                  std::ranges::all_of(row, [](int64_t n) { return n >= 0; });
                         });
  if (!is_square) {
    throw error_at(
        file, ErrorCode::corrupt,
        "is not a confusion matrix as fftrain --evaluate RUN --confusion FILE.json writes it");
  }
  return out;
}

Canvas draw_confusion(const ConfusionCounts& counts) {
  const auto n = static_cast<int>(counts.classes.size());
  const bool has_names = counts.classes.size() <= kMostNames;
  int widest = 0;
  std::vector<std::string> names;
  for (const std::string& name : counts.classes) {
    names.push_back(has_names ? one_line(name, kLongestName) : "");
    widest = std::max(widest, text_width(names.back(), kSmallText));
  }
  const std::vector<std::string> below =
      has_names ? std::vector<std::string>() : worst_pairs(counts);
  const int cell = has_names ? 48 : std::max(1, std::min(16, kMostPixels / n));
  const int gap = has_names ? 8 : 0;
  // Above and beside the matrix stand the names of its axes, then those of its classes.
  const int left = kMatrixMargin + kText + widest + gap;
  const int top = kMatrixMargin + 2 * kText + kSmallText + widest + gap;
  const int side = cell * n;
  const std::string title = title_of(counts);
  int width = std::max(left + side, kMatrixMargin + text_width(title, kText));
  for (const std::string& line : below) {
    width = std::max(width, kMatrixMargin + text_width(line, kSmallText));
  }
  const int below_height = below.empty() ? 0 : kText + kSmallText * static_cast<int>(below.size());
  Canvas canvas(width + kMatrixMargin, top + side + kMatrixMargin + below_height, kWhite);
  for (int y = 0; y < n; ++y) {
    const std::vector<int64_t>& row = counts.matrix[y];
    const int64_t sum = std::accumulate(row.begin(), row.end(), int64_t{0});
    for (int x = 0; x < n; ++x) {
      const int64_t count = row[x];
      const double share = sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0.0;
      const Rect place{.x = left + x * cell, .y = top + y * cell, .width = cell, .height = cell};
      canvas.fill(place, mixed(x == y ? kRight : kWrong, share));
      if (!has_names || count == 0) continue;
      const std::string text = fmt::format("{}", count);
      draw_text(canvas, place.x + (cell - text_width(text, kSmallText)) / 2,
                place.y + (cell - kSmallText) / 2, text, kSmallText,
                share > 0.5 ? kWhite : kChartBlack);
    }
    const int middle = y * cell + (cell - kSmallText) / 2;
    draw_text(canvas, left - gap - text_width(names[y], kSmallText), top + middle, names[y],
              kSmallText, kChartBlack);
    if (has_names) draw_upwards(canvas, left + middle, top - gap, names[y]);
  }
  draw_text(canvas, kMatrixMargin, kMatrixMargin, title, kText, kChartBlack);
  draw_text(canvas, left, kMatrixMargin + kText + 6, "found", kSmallText, kChartBlack);
  draw_upwards(canvas, kMatrixMargin - 2, top + text_width("truth", kSmallText), "truth");
  for (size_t i = 0; i < below.size(); ++i) {
    draw_text(canvas, kMatrixMargin, top + side + kMatrixMargin + static_cast<int>(i) * kSmallText,
              below[i], kSmallText, kChartBlack);
  }
  return canvas;
}

}  // namespace ffkit
