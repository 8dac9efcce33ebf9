// A radar's PCD file of any bytes: whole points that were in it, or an Error.
#include "sources/nuscenes/points.h"
#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  ffkit::fuzzing::attempt([file] {
    const std::vector<float> points = ffkit::nuscenes::read_radar_pcd(file);
    constexpr size_t kNumbers = 18;
    constexpr size_t kPointBytes = 43;
    if (points.size() % kNumbers != 0 || points.size() / kNumbers * kPointBytes > file.size()) {
      std::abort();
    }
    ffkit::fuzzing::touch(std::as_bytes(std::span(points)));
  });
  return 0;
}
