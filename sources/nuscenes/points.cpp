#include "nuscenes/points.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "converter/input/sample_arrays.h"
#include "format/schema/element.h"
#include "numbers/npy_header.h"
#include "nuscenes/radar_pcd.h"

namespace ffkit::nuscenes {
namespace {

constexpr size_t kLidarPointBytes = kLidarColumns * sizeof(float);
constexpr int64_t kMaxLabelBytes = 64 << 20;

void require_labels(size_t num_labels, size_t num_points) {
  if (num_labels == num_points) return;
  throw error_of(ErrorCode::corrupt, "has {} labels for {} points; unpack it again", num_labels,
                 num_points);
}

// The member data.npy of an .npz, which is a zip file.
std::vector<std::byte> read_npz(std::span<const std::byte> file) {
  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };
  const std::unique_ptr<archive, Free> zip(archive_read_new());
  const auto fail = [&] {
    const char* why = archive_error_string(zip.get());
    throw error_of(ErrorCode::corrupt, "is no readable .npz file: {}; unpack it again",
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
        throw Error(ErrorCode::unsupported, "has more than 64 MiB of labels");
      }
    }
  }
  fail();
  return {};
}

}  // namespace

void set_lidar_points(std::span<const std::byte> file, DType dtype, RecordBuilder& record,
                      size_t field, SampleBuffers& buffers) {
  if (file.size() % kLidarPointBytes != 0) {
    throw error_of(ErrorCode::corrupt,
                   "has {} bytes, which is no multiple of 20, five f32 a point; unpack it again",
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
                     "has the number {}, which f16 cannot hold; convert without {}", value,
                     option_set("lidar_dtype", "f16"));
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
        throw error_of(ErrorCode::corrupt, "has the label {}; they are 0 .. 65535", value);
      }
      labels[i] = static_cast<uint16_t>(value);
    }
  });
  set_array<uint16_t>(record, field, labels, {static_cast<int64_t>(num_points)});
}

}  // namespace ffkit::nuscenes
