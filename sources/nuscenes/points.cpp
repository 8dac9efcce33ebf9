#include "nuscenes/points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

#include "archives/archive_reader.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "converter/input/sample_arrays.h"
#include "format/schema/element.h"
#include "format/schema/npy_header.h"

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
      throw error_of(ErrorCode::corrupt,
                     "the file is not a PCD file of a radar: its header has no line '{}'", key);
    }
    line.remove_prefix(key.size() + 1);
    return line;
  }

  void require(std::string_view key, std::string_view wanted) {
    if (const std::string_view found = value(key); found != wanted) {
      throw error_of(
          ErrorCode::unsupported,
          "the file is not a radar file of nuScenes: '{}' in its header is '{}', but must be '{}'",
          key, found.substr(0, 200), wanted);
    }
  }

  size_t number(std::string_view key) {
    const std::string_view text = value(key);
    const auto number = number_of_text<size_t>(text);
    if (number && *number <= kMaxPoints) return *number;
    throw error_of(ErrorCode::corrupt,
                   "'{}' in the header of the PCD file is '{}', but must be a number up to {}", key,
                   text.substr(0, 200), kMaxPoints);
  }

  // Where the data begins.
  size_t position() const { return position_; }

 private:
  std::string_view next_line() {
    const size_t end = text_.find('\n', position_);
    if (end == std::string_view::npos) {
      throw Error(ErrorCode::corrupt, "the file is not a PCD file: its header does not end");
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

constexpr size_t kLidarPointBytes = kLidarColumns * sizeof(float);
constexpr int64_t kMaxLabelBytes = 64 << 20;

void require_labels(size_t num_labels, size_t num_points) {
  if (num_labels == num_points) return;
  throw error_of(ErrorCode::corrupt, "the file has {} labels for {} points; unpack it again",
                 num_labels, num_points);
}

// The member data.npy of an .npz, which is a zip file.
std::vector<std::byte> read_npz(std::span<const std::byte> file) {
  const std::unique_ptr<archive, FreeArchive> zip(archive_read_new());
  const auto fail = [&] {
    const char* why = archive_error_string(zip.get());
    throw error_of(ErrorCode::corrupt, "the .npz file cannot be read: {}; unpack it again",
                   why == nullptr ? "it has no array 'data'" : why);
  };
  archive_read_support_format_zip(zip.get());
  if (archive_read_open_memory(zip.get(), file.data(), file.size()) != ARCHIVE_OK) fail();
  archive_entry* entry = nullptr;
  while (archive_read_next_header(zip.get(), &entry) == ARCHIVE_OK) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr || std::string_view(name) != "data.npy") continue;
    std::vector<std::byte> npy;
    constexpr size_t kStep = 1 << 16;
    while (true) {
      const size_t size = npy.size();
      npy.resize(size + kStep);
      const la_ssize_t n = archive_read_data(zip.get(), npy.data() + size, kStep);
      if (n < 0) fail();
      npy.resize(size + static_cast<size_t>(n));
      if (n == 0) return npy;
      if (std::ssize(npy) > kMaxLabelBytes) {
        throw Error(ErrorCode::unsupported, "the file has more than 64 MiB of labels, the limit");
      }
    }
  }
  fail();
  return {};
}

}  // namespace

std::vector<float> read_radar_pcd(std::span<const std::byte> file) {
  Header header({reinterpret_cast<const char*>(file.data()), file.size()});
  const std::string_view version = header.value("VERSION");
  if (version != "0.7" && version != ".7") {
    throw error_of(ErrorCode::unsupported,
                   "the file is a PCD file of version '{}', but ffkit reads version 0.7",
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
    throw error_of(ErrorCode::corrupt,
                   "'WIDTH' in the header of the PCD file is {}, but 'POINTS' is {}", width,
                   num_points);
  }
  const std::span<const std::byte> data = file.subspan(header.position());
  if (data.size() < num_points * kPointBytes || data.size() - num_points * kPointBytes > kMaxTail) {
    throw error_of(
        ErrorCode::corrupt,
        "the file has {} bytes of points, but must have {} ({} points of {} bytes); copy it again",
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

void set_lidar_points(std::span<const std::byte> file, DType dtype, RecordBuilder& record,
                      size_t field, SampleBuffers& buffers) {
  if (file.size() % kLidarPointBytes != 0) {
    throw error_of(ErrorCode::corrupt,
                   "the file has {} bytes, but each point has 20 bytes (five f32); unpack it again",
                   file.size());
  }
  const auto num_points = static_cast<int64_t>(file.size() / kLidarPointBytes);
  if (dtype == DType::f32) {
    record.set_tensor(field, {DType::f32, {num_points, kLidarColumns}, file});
    return;
  }
  const auto halves = new_array<uint16_t>(buffers, file.size() / sizeof(float));
  for (size_t i = 0; i < halves.size(); ++i) {
    const auto value = load_number<float>(&file[i * sizeof(float)]);
    constexpr float kMaxHalf = 65504;
    if (value > kMaxHalf || value < -kMaxHalf) {
      throw error_of(ErrorCode::unsupported,
                     "the file has the number {}, which f16 cannot store; convert without {}",
                     value, option_set("lidar_dtype", "f16"));
    }
    halves[i] = to_f16(value);
  }
  record.set_tensor(field, {DType::f16, {num_points, kLidarColumns}, std::as_bytes(halves)});
}

void set_radar_points(std::span<const std::byte> file, RecordBuilder& record, size_t field,
                      SampleBuffers& buffers, const RadarFilter& filter) {
  std::vector<float> points = read_radar_pcd(file);
  if (filter.is_on) {
    auto kept = points.begin();
    for (auto point = points.begin(); point != points.end(); point += kRadarColumns) {
      if (!keeps(filter, point[kDynPropColumn], point[kAmbigStateColumn],
                 point[kInvalidStateColumn])) {
        continue;
      }
      if (kept != point) std::copy(point, point + kRadarColumns, kept);
      kept += kRadarColumns;
    }
    points.erase(kept, points.end());
  }
  const auto num_points = std::ssize(points) / kRadarColumns;
  set_copy<float>(record, field, points, {num_points, kRadarColumns}, buffers);
}

void set_lidarseg(std::span<const std::byte> file, size_t num_points, RecordBuilder& record,
                  size_t field) {
  require_labels(file.size(), num_points);
  record.set_tensor(field, {DType::u8, {static_cast<int64_t>(num_points)}, file});
}

void set_panoptic(std::span<const std::byte> file, size_t num_points, RecordBuilder& record,
                  size_t field, SampleBuffers& buffers) {
  const std::vector<std::byte> npy = read_npz(file);
  const NpyHeader header = read_npy_header(npy);
  size_t num_labels = 1;
  for (const int64_t side : header.shape) num_labels *= static_cast<size_t>(side);
  require_labels(num_labels, num_points);
  const auto labels = new_array<uint16_t>(buffers, num_points);
  visit_dtype(header.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < num_points; ++i) {
      const auto value =
          static_cast<double>(load_number<T>(&npy[header.data_offset + i * sizeof(T)]));
      if (!(value >= 0 && value <= 65535 && value == std::floor(value))) {
        throw error_of(ErrorCode::corrupt,
                       "the file has the label {}, but labels must be from 0 to 65535", value);
      }
      labels[i] = static_cast<uint16_t>(value);
    }
  });
  set_array<uint16_t>(record, field, labels, {static_cast<int64_t>(num_points)});
}

}  // namespace ffkit::nuscenes
