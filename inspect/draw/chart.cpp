#include "draw/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/make_error.h"
#include "draw/text.h"

namespace ffkit {
namespace {

constexpr Color kChartBlack = {30, 30, 30};
constexpr Color kChartGrid = {225, 225, 225};
constexpr int kChartMargin = 10;
constexpr int kLeft = 100;  // room for the numbers of the vertical axis
constexpr int kChartTextHeight = kText;

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

// `box` is the area between the axes.
void draw_axes(Canvas& canvas, const Rect& box, const std::vector<double>& x_ticks,
               const std::vector<double>& y_ticks, const Range& x_range, const Range& y_range) {
  for (const double tick : y_ticks) {
    const int y = box.y + int(std::lround((1 - y_range.place(tick)) * box.height));
    canvas.fill({box.x, y, box.width, 1}, kChartGrid);
    const std::string text = tick_text(tick);
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
  Range values;
  for (const ChartLine& line : panel.lines) {
    for (const ChartPoint& p : line.points) values.add(p.y);
  }
  if (panel.from_zero) values.low = std::min(0.0, values.low);
  const std::vector<double> y_ticks = make_ticks(values.low, values.high, 5);
  const Range y_range{y_ticks.front(), y_ticks.back()};
  draw_axes(canvas, box, make_ticks(x_range.low, x_range.high, 8), y_ticks, x_range, y_range);

  // Lines along an axis are as thick as others.
  const Rect around{box.x - 2, box.y - 2, box.width + 4, box.height + 4};
  int legend_x = box.x + text_width(panel.title, kText) + 24;
  draw_text(canvas, box.x, box.y - kChartTextHeight - 4, panel.title, kText, kChartBlack);
  for (const ChartLine& line : panel.lines) {
    if (line.points.empty()) continue;
    const auto to_x = [&](double x) { return box.x + x_range.place(x) * box.width; };
    const auto to_y = [&](double y) { return box.y + (1 - y_range.place(y)) * box.height; };
    const std::vector<ChartPoint> points = thin_out(line.points, x_range, box.width);
    for (size_t i = 0; i < points.size(); ++i) {
      const ChartPoint& from = points[i > 0 ? i - 1 : 0];
      canvas.draw_line(around, to_x(from.x), to_y(from.y), to_x(points[i].x), to_y(points[i].y),
                       line.color, 2);
      if (line.has_marks || points.size() == 1) {
        canvas.fill({int(to_x(points[i].x)) - 2, int(to_y(points[i].y)) - 2, 6, 6}, line.color);
      }
    }
    canvas.fill({legend_x, box.y - kChartTextHeight + 1, 24, 4}, line.color);
    draw_text(canvas, legend_x + 30, box.y - kChartTextHeight - 4, line.name, kText, kChartBlack);
    legend_x += 30 + text_width(line.name, kText) + 24;
  }
}

constexpr Color kRight = {0, 120, 60};
constexpr Color kWrong = {190, 30, 30};
constexpr int kMatrixMargin = 12;
constexpr size_t kMostNames = 40;
constexpr int kMostPixels = 4000;

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
  return fmt::format("{} of {} right ({:.1f} %); rows: labels, columns: found", right, all,
                     100 * share);
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
  const int top = 2 * kChartMargin + kChartTextHeight;
  const int height =
      top + int(shown.size()) * options.panel_height + kChartMargin + kChartTextHeight;
  Canvas canvas(options.width, height, kWhite);
  draw_text(canvas, kChartMargin, kChartMargin, title, kText, kChartBlack);
  for (size_t i = 0; i < shown.size(); ++i) {
    const int y = top + int(i) * options.panel_height;
    // Above the axes the panel's title, below them the numbers of the horizontal one.
    const Rect box{kLeft, y + kChartTextHeight + kChartMargin,
                   options.width - kLeft - 2 * kChartMargin,
                   options.panel_height - 2 * kChartTextHeight - 2 * kChartMargin};
    draw_panel(canvas, *shown[i], box, x_range);
  }
  draw_text(canvas, kLeft, height - kChartTextHeight - 2, options.x_name, kText, kChartBlack);
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
        "is no confusion matrix as fftrain --evaluate RUN --confusion FILE.json writes it");
  }
  return out;
}

Canvas draw_confusion(const ConfusionCounts& counts) {
  const auto n = static_cast<int>(counts.classes.size());
  const bool has_names = counts.classes.size() <= kMostNames;
  int widest = 0;
  for (const std::string& name : counts.classes)
    widest = std::max(widest, has_names ? std::min(260, text_width(name, kSmallText)) : 0);
  const int cell = has_names ? 48 : std::max(1, std::min(16, kMostPixels / n));
  const int left = kMatrixMargin + widest + (has_names ? 8 : 0), top = kMatrixMargin + 2 * kText;
  const int side = cell * n;
  const int names_below = has_names ? kText * n : 0;
  const std::string title = title_of(counts);
  const int title_width = kMatrixMargin + text_width(title, kText);
  Canvas canvas(std::max(left + side, title_width) + kMatrixMargin,
                top + side + kMatrixMargin + names_below, kWhite);
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
    if (!has_names) continue;
    const std::string& name = counts.classes[y];
    const std::vector<std::string> lines = wrap_text(name, 260, kSmallText, 1);
    const std::string short_name = lines.empty() ? "" : lines.front();
    draw_text(canvas, left - 8 - text_width(short_name, kSmallText),
              top + y * cell + (cell - kSmallText) / 2, short_name, kSmallText, kChartBlack);
    draw_text(canvas, left, top + side + kMatrixMargin / 2 + y * kText,
              fmt::format("column {}: {}", y + 1, name), kSmallText, kChartBlack);
  }
  draw_text(canvas, kMatrixMargin, kMatrixMargin, title, kText, kChartBlack);
  return canvas;
}

}  // namespace ffkit
