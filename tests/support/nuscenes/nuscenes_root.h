// A small made-up nuScenes data root with all of its files: nuscenes_tables.h, and pictures, points
// and labels to them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nuscenes/nuscenes_tables.h"
#include "pictures.h"

namespace ffkit::testing {

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// A lidar file; the numbers of point i are i, i + 1/8, ...
inline std::string lidar_points(int num_points) {
  std::string file;
  for (int i = 0; i < num_points; ++i) {
    for (int j = 0; j < 5; ++j) {
      const float number = static_cast<float>(i) + 0.125F * static_cast<float>(j);
      file.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
  }
  return file;
}

// A whole PNG of one grey pixel.
inline std::string map_mask() {
  constexpr std::string_view kHex =
      "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a4944"
      "4154789c636800000082008177cd72b60000000049454e44ae426082";
  std::string png;
  for (size_t i = 0; i < kHex.size(); i += 2) {
    png += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  }
  return png;
}

// Of the files; nuScenes' own have about 150 kB, 34,000 and 60.
struct NuScenesFileSizes {
  size_t image_bytes = 0;  // at least; bytes behind the picture
  int lidar_points = 10;   // and a few more
  int radar_points = 0;
};

inline void write_nuscenes_root(const std::filesystem::path& root, const NuScenesShape& shape = {},
                                const NuScenesFileSizes& sizes = {}) {
  int number = 0;
  NuScenesTables(shape).write(root, [&](std::string_view filename, bool) {
    const std::filesystem::path path = root / filename;
    ++number;
    if (filename.ends_with(".jpg")) {
      std::string picture = jpeg_picture(number, 32);
      picture.resize(std::max(picture.size(), sizes.image_bytes), 'x');
      write_bytes(path, picture);
    } else if (filename.ends_with(".bin")) {
      write_bytes(path, lidar_points(sizes.lidar_points + number % 7));
    } else {
      write_bytes(path, radar_pcd(sizes.radar_points + number % 5));
    }
  });
  write_bytes(root / "maps/m.png", map_mask());
}

}  // namespace ffkit::testing
