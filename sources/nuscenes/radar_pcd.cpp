#include "nuscenes/radar_pcd.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/nuscenes/classes.h>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

constexpr size_t kMaxPoints = 1'000'000;
constexpr size_t kMaxTail = 64 << 10;
constexpr size_t kNumFields = kRadarFields.size();
// nuScenes' own; others would be another sensor's.
constexpr std::array<size_t, kNumFields> kSizes = {4, 4, 4, 1, 2, 4, 4, 4, 4,
                                                   4, 1, 1, 1, 1, 1, 1, 1, 1};
constexpr std::string_view kTypes = "F F F I I F F F F F I I I I I I I I";
constexpr std::string_view kCounts = "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1";
constexpr size_t kPointBytes = 43;

// The header's lines, one after the other.
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {}

  // What follows `key` in the next line that is no comment.
  std::string_view value(std::string_view key) {
    std::string_view line = next_line();
    while (line.starts_with('#')) line = next_line();
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') {
      throw error_of(ErrorCode::corrupt, "is no PCD file of a radar: '{}' is missing in its header",
                     key);
    }
    line.remove_prefix(key.size() + 1);
    return line;
  }

  void require(std::string_view key, std::string_view wanted) {
    if (const std::string_view found = value(key); found != wanted) {
      throw error_of(ErrorCode::unsupported,
                     "is no radar file of nuScenes: {} is '{}' instead of '{}'", key,
                     found.substr(0, 200), wanted);
    }
  }

  size_t number(std::string_view key) {
    const std::string_view text = value(key);
    size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > kMaxPoints) {
      throw error_of(ErrorCode::corrupt, "{} is '{}' instead of a number up to {}", key,
                     text.substr(0, 200), kMaxPoints);
    }
    return number;
  }

  // Where the data begins.
  size_t position() const { return position_; }

 private:
  std::string_view next_line() {
    const size_t end = text_.find('\n', position_);
    if (end == std::string_view::npos) {
      throw Error(ErrorCode::corrupt, "is no PCD file: its header does not end");
    }
    std::string_view line = text_.substr(position_, end - position_);
    position_ = end + 1;
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    return line;
  }

  std::string_view text_;
  size_t position_ = 0;
};

template <typename T>
float number_at(const std::byte* bytes) {
  return static_cast<float>(load_number<T>(bytes));
}

void append_point(const std::byte* bytes, std::vector<float>& out) {
  for (size_t i = 0; i < kNumFields; ++i) {
    if (kSizes[i] == 4) {
      out.push_back(number_at<float>(bytes));
    } else {
      out.push_back(kSizes[i] == 2 ? number_at<int16_t>(bytes) : number_at<int8_t>(bytes));
    }
    bytes += kSizes[i];
  }
}

}  // namespace

std::vector<float> read_radar_pcd(std::span<const std::byte> file) {
  Header header({reinterpret_cast<const char*>(file.data()), file.size()});
  const std::string_view version = header.value("VERSION");
  if (version != "0.7" && version != ".7") {
    throw error_of(ErrorCode::unsupported, "is a PCD file of version '{}' instead of 0.7",
                   version.substr(0, 200));
  }
  header.require("FIELDS", fmt::format("{}", fmt::join(kRadarFields, " ")));
  header.require("SIZE", fmt::format("{}", fmt::join(kSizes, " ")));
  header.require("TYPE", kTypes);
  header.require("COUNT", kCounts);
  const size_t width = header.number("WIDTH");
  header.require("HEIGHT", "1");
  (void)header.value("VIEWPOINT");
  const size_t num_points = header.number("POINTS");
  header.require("DATA", "binary");
  if (width != num_points) {
    throw error_of(ErrorCode::corrupt, "WIDTH is {}, but POINTS {}", width, num_points);
  }
  const std::span<const std::byte> data = file.subspan(header.position());
  if (data.size() < num_points * kPointBytes || data.size() - num_points * kPointBytes > kMaxTail) {
    throw error_of(ErrorCode::corrupt,
                   "has {} bytes of points instead of {} ({} points of {}); copy it again",
                   data.size(), num_points * kPointBytes, num_points, kPointBytes);
  }
  std::vector<float> points;
  points.reserve(num_points * kNumFields);
  for (size_t i = 0; i < num_points; ++i) append_point(&data[i * kPointBytes], points);
  const auto is_nan = [](float value) { return std::isnan(value); };
  if (num_points > 0 && std::any_of(points.begin(), points.begin() + kNumFields, is_nan))
    points.clear();
  return points;
}

}  // namespace ffkit::nuscenes
