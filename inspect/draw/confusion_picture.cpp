#include "draw/confusion_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/make_error.h"
#include "draw/text.h"

namespace ffkit {
namespace {

constexpr Color kMatrixWhite = {255, 255, 255};
constexpr Color kInk = {30, 30, 30};
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
                top + side + kMatrixMargin + names_below, kMatrixWhite);
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
                share > 0.5 ? kMatrixWhite : kInk);
    }
    if (!has_names) continue;
    const std::string& name = counts.classes[y];
    const std::vector<std::string> lines = wrap_text(name, 260, kSmallText, 1);
    const std::string short_name = lines.empty() ? "" : lines.front();
    draw_text(canvas, left - 8 - text_width(short_name, kSmallText),
              top + y * cell + (cell - kSmallText) / 2, short_name, kSmallText, kInk);
    draw_text(canvas, left, top + side + kMatrixMargin / 2 + y * kText,
              fmt::format("column {}: {}", y + 1, name), kSmallText, kInk);
  }
  draw_text(canvas, kMatrixMargin, kMatrixMargin, title, kText, kInk);
  return canvas;
}

}  // namespace ffkit
