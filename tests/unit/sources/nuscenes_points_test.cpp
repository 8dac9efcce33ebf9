#include <archive.h>
#include <archive_entry.h>

#include "nuscenes/nuscenes_tables.h"
#include "sources/nuscenes/points.h"
#include "sources_prelude.h"

namespace ffkit::nuscenes {
namespace {

std::vector<float> read_pcd(const std::string& file) {
  return read_radar_pcd(std::as_bytes(std::span(file)));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error(what);
  return text.replace(at, what.size(), by);
}

TEST(RadarPcd, HasEighteenNumbersAPoint) {
  const std::vector<float> points = read_pcd(testing::radar_pcd(3));
  ASSERT_EQ(points.size(), 54U);
  // radar_pcd()'s numbers of point 2.
  const float kWanted[] = {2, 2.25, 2.5, 2, -2, 1, 1.5, 2, 2.5, 3, -2, -1, 0, 1, 2, 3, 4, 5};
  for (size_t i = 0; i < 18; ++i) EXPECT_EQ(points[36 + i], kWanted[i]) << i;
}

TEST(RadarPcd, IsEmptyWhenItsFirstPointIsNan) {
  EXPECT_TRUE(read_pcd(testing::radar_pcd(0)).empty());
}

TEST(RadarPcd, TakesFilesWithoutTheLastByte) {
  std::string file = testing::radar_pcd(2);
  file.pop_back();
  EXPECT_EQ(read_pcd(file).size(), 36U);
}

TEST(RadarPcd, RefusesWhatItIsNot) {
  const std::string good = testing::radar_pcd(4);
  const auto with = [&](const char* what, const char* by) { return replaced(good, what, by); };
  EXPECT_ERROR(read_pcd(""), corrupt);
  EXPECT_ERROR(read_pcd("a\nb\nc\n"), corrupt);
  EXPECT_ERROR(read_pcd(with("VERSION 0.7", "VERSION 0.5")), unsupported);
  EXPECT_ERROR(read_pcd(with("dyn_prop", "dynprop")), unsupported);
  EXPECT_ERROR(read_pcd(with("SIZE 4", "SIZE 8")), unsupported);
  EXPECT_ERROR(read_pcd(with("TYPE F", "TYPE U")), unsupported);
  EXPECT_ERROR(read_pcd(with("COUNT 1", "COUNT 2")), unsupported);
  EXPECT_ERROR(read_pcd(with("HEIGHT 1", "HEIGHT 2")), unsupported);
  EXPECT_ERROR(read_pcd(with("DATA binary", "DATA ascii")), unsupported);
  EXPECT_ERROR(read_pcd(with("WIDTH 4", "WIDTH 5")), corrupt);
  EXPECT_ERROR(read_pcd(with("WIDTH 4", "WIDTH -4")), corrupt);
  EXPECT_ERROR(read_pcd(with("POINTS 4", "POINTS 99999999999999999999")), corrupt);
  EXPECT_ERROR(read_pcd(good.substr(0, good.size() - 2)), corrupt);
  EXPECT_ERROR(read_pcd(good + std::string(100'000, 'x')), corrupt);
}

// An .npz of the array `name`.
std::string npz(const std::string& name, const std::string& type, const std::string& data,
                int64_t count, bool deflated) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, count);
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string npy = "\x93NUMPY\x01";
  npy += '\0';
  npy += static_cast<char>(header.size() & 0xFF);
  npy += static_cast<char>(header.size() >> 8);
  npy += header + data;
  std::string zip(1 << 16, '\0');
  size_t num_bytes = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  archive_write_set_options(writer, deflated ? "zip:compression=deflate" : "zip:compression=store");
  archive_write_open_memory(writer, zip.data(), zip.size(), &num_bytes);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, (name + ".npy").c_str());
  archive_entry_set_size(entry, static_cast<la_int64_t>(npy.size()));
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(writer, entry);
  archive_write_data(writer, npy.data(), npy.size());
  archive_entry_free(entry);
  archive_write_close(writer);
  archive_write_free(writer);
  zip.resize(num_bytes);
  return zip;
}

class Labels : public ::testing::Test {
 protected:
  std::vector<uint16_t> panoptic(const std::string& file, size_t num_points) {
    RecordBuilder builder(schema_);
    set_panoptic(std::as_bytes(std::span(file)), num_points, builder, 0, buffers_);
    std::vector<std::byte> record = testing::encoded(builder);
    const TensorView tensor = RecordView(schema_, record).tensor(0);
    EXPECT_EQ(tensor.shape, std::vector<int64_t>{static_cast<int64_t>(num_points)});
    std::vector<uint16_t> labels(num_points);
    std::memcpy(labels.data(), tensor.data.data(), tensor.data.size());
    return labels;
  }
  const Schema schema_{{{.name = "labels", .type = FieldType::tensor, .dtype = DType::u16}}};
  SampleBuffers buffers_;
};

TEST_F(Labels, OfPanopticAreReadFromNpz) {
  const std::string data("\x11\x27\xE8\x03\x00\x00", 6);  // 10001, 1000, 0
  const std::vector<uint16_t> wanted = {10001, 1000, 0};
  EXPECT_EQ(panoptic(npz("data", "<u2", data, 3, false), 3), wanted);
  EXPECT_EQ(panoptic(npz("data", "<u2", data, 3, true), 3), wanted);
  const std::string wide("\x11\x27\0\0\xE8\x03\0\0", 8);
  EXPECT_EQ(panoptic(npz("data", "<i4", wide, 2, true), 2), (std::vector<uint16_t>{10001, 1000}));
}

TEST_F(Labels, ThatDoNotFitAreRefused) {
  const std::string good = npz("data", "<u2", std::string(6, '\1'), 3, true);
  EXPECT_ERROR(panoptic(good, 4), corrupt);
  EXPECT_ERROR(panoptic(npz("other", "<u2", std::string(6, '\1'), 3, true), 3), corrupt);
  EXPECT_ERROR(panoptic("no zip", 3), corrupt);
  EXPECT_ERROR(panoptic(npz("data", "<i4", "\xFF\xFF\xFF\xFF", 1, true), 1), corrupt);
  RecordBuilder builder(schema_);
  EXPECT_ERROR(set_lidarseg(std::as_bytes(std::span(good)).first(5), 6, builder, 0), corrupt);
}

}  // namespace
}  // namespace ffkit::nuscenes
