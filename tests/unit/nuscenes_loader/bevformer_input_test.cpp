// The published code's numbers of where the vehicle is, of the real set.
#include <archive.h>
#include <archive_entry.h>

#include <ffkit/converter/convert.h>
#include <ffkit/nuscenes/windows.h>
#include <ffkit/sources/nuscenes.h>

#include "format/schema/npy_header.h"
#include "motion_options.h"
#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

// The numbers of an array of an .npz.
template <typename T>
std::vector<T> npz_array(const std::filesystem::path& file, const std::string& name) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> zip(archive_read_new(),
                                                                   archive_read_free);
  archive_read_support_format_zip(zip.get());
  EXPECT_EQ(archive_read_open_filename(zip.get(), file.c_str(), 1 << 16), ARCHIVE_OK) << file;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(zip.get(), &entry) == ARCHIVE_OK) {
    if (archive_entry_pathname(entry) != name + ".npy") continue;
    std::vector<std::byte> bytes(static_cast<size_t>(archive_entry_size(entry)));
    EXPECT_EQ(archive_read_data(zip.get(), bytes.data(), bytes.size()), std::ssize(bytes));
    const NpyHeader header = read_npy_header(bytes);
    EXPECT_EQ(header.dtype, dtype_of<T>());
    std::vector<T> values((bytes.size() - header.data_offset) / sizeof(T));
    std::memcpy(values.data(), bytes.data() + header.data_offset, values.size() * sizeof(T));
    return values;
  }
  ADD_FAILURE() << file << " has no " << name;
  return {};
}

KeyframeOptions with_pictures(KeyframeOptions options, const nlohmann::json& config) {
  options.cameras = {};
  options.cameras.image.transform = ScalePad{
      .size = {config["img_shape"][0].get<int64_t>(), config["img_shape"][1].get<int64_t>()},
      .factor = config["image_scale"].get<double>()};
  return options;
}

// Windows of the real set against what BEVFormer's get_data_info(), union2one() and the filters of
// its pipeline gave for them.
TEST(BevFormerInput, IsThatOfThePublishedCode) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  FFKIT_REQUIRE_SHARED_DATA(fixtures, "bevformer");
  const testing::TempDir dir;
  convert(*open_nuscenes(root / "root", {.version = "v1.0-mini"}), dir / "data", {});
  const Split split = open_split(dir / "data", "mini_train");
  KeyframeOptions with = only_numbers();
  with.can_bus = CanBusRule::bevformer_code;
  with.boxes.range = BevRange{};
  int num_fixtures = 0;
  for (const char* name :
       {"tiny", "tiny_single", "small", "small_single", "small_ms", "small_ms_single"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path numbers = fixtures / (std::string(name) + ".expected.npz");
    const nlohmann::json config =
        read_json(fixtures / (std::string(name) + ".expected.json"))["config"];
    const std::vector<int64_t> frames = config["keyframes"];
    // The matrices are those of the scaled pictures, which take their time.
    const bool has_pictures = name == std::string_view("small");
    const KeyframeOptions own = has_pictures ? with_pictures(with, config) : with;
    const Windows windows = make_windows(split.keyframes, std::ssize(frames) - 1)
                                .select(std::vector<int64_t>{frames.back()});
    LoaderOptions options = loading(split, own, std::ssize(frames));
    windows.apply(options.sampler);
    Loader loader(windows.frames, options);
    const auto batch = loader.next();
    ASSERT_EQ(batch->size(), std::ssize(frames));
    if (has_pictures) {
      const auto wanted = npz_array<double>(numbers, "lidar2img");
      const auto* found = static_cast<const float*>(batch->field("lidar_to_image").data);
      ASSERT_EQ(wanted.size(), frames.size() * 6 * 16);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-3) << i;
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(batch->strings("sample_token")[i], config["sample_tokens"][i]);
      EXPECT_EQ(static_cast<const int64_t*>(batch->field("frame_index").data)[i], frames[i]);
    }
    const auto compare = [](std::span<const double> found, const std::vector<double>& wanted) {
      ASSERT_EQ(found.size(), wanted.size());
      // Positions are near 1000.
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-11) << i;
    };
    std::vector<double> motion(motion_of(*batch), motion_of(*batch) + 18 * batch->size());
    compare(motion, npz_array<double>(numbers, "can_bus_absolute"));
    to_differences(motion, windows.has_previous(batch->record_indices()));
    compare(motion, npz_array<double>(numbers, "can_bus"));

    // Boxes of the last frame: x, y, z of the bottom, w, l, h, yaw, vx, vy in the convention before
    // mmdetection3d 1.0.
    const auto wanted_boxes = npz_array<float>(numbers, "gt_boxes");
    const auto wanted_classes = npz_array<int32_t>(numbers, "gt_labels");
    const auto offsets = batch->row_offsets("boxes");
    const int64_t begin = offsets[frames.size() - 1];
    ASSERT_EQ(offsets[frames.size()] - begin, std::ssize(wanted_classes));
    for (size_t i = 0; i < wanted_classes.size(); ++i) {
      const auto row = begin + static_cast<int64_t>(i);
      EXPECT_EQ(static_cast<const int64_t*>(batch->field("box_classes").data)[row],
                wanted_classes[i]);
      const float* box = static_cast<const float*>(batch->field("boxes").data) + 9 * row;
      const float* wanted = &wanted_boxes[9 * i];
      EXPECT_NEAR(box[0], wanted[0], 1e-5);
      EXPECT_NEAR(box[1], wanted[1], 1e-5);
      EXPECT_NEAR(box[2] - box[5] / 2, wanted[2], 1e-5);
      EXPECT_NEAR(box[4], wanted[3], 1e-6);
      EXPECT_NEAR(box[3], wanted[4], 1e-6);
      EXPECT_NEAR(std::remainder(-box[6] - std::numbers::pi / 2 - wanted[6], 2 * std::numbers::pi),
                  0, 1e-5);
      EXPECT_NEAR(box[7], wanted[7], 1e-4);
      EXPECT_NEAR(box[8], wanted[8], 1e-4);
    }
    ++num_fixtures;
  }
  EXPECT_EQ(num_fixtures, 6);
}

}  // namespace
}  // namespace ffkit::nuscenes
