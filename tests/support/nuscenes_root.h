// A small made-up nuScenes data root with all of its files: nuscenes_tables.h, and pictures, points and labels to them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nuscenes_tables.h"
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

inline void write_nuscenes_root(const std::filesystem::path& root,
                                const NuScenesShape& shape = {}) {
  int number = 0;
  NuScenesTables(shape).write(root, [&](std::string_view filename, bool) {
    const std::filesystem::path path = root / filename;
    ++number;
    if (filename.ends_with(".jpg")) {
      write_bytes(path, jpeg_picture(number, 32));
    } else if (filename.ends_with(".bin")) {
      write_bytes(path, lidar_points(10 + number % 7));
    } else {
      write_bytes(path, radar_pcd(number % 5));
    }
  });
  write_bytes(root / "maps/m.png", "a mask");
}

}  // namespace ffkit::testing
