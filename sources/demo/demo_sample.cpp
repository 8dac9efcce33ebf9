#include "demo/demo_sample.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/image/image_codec.h>

namespace ffkit {

std::map<std::string, std::string> DemoPictures::facts(size_t) const {
  return {{"kind", "demo"}, {"demo_seed", std::to_string(seed_)}, {"size", std::to_string(size_)}};
}

std::map<std::string, std::string> DemoPictures::options() const {
  return manifest_options(storer_.storage());
}

std::string DemoPictures::describe(size_t split, int64_t index) const {
  return fmt::format("demo: {}/{}", infos_.at(split).name, id(index));
}

std::optional<std::string> DemoPictures::listed_id(size_t, int64_t index) const {
  return id(index);
}

SplitMix DemoPictures::random(size_t split, int64_t index) const {
  // Hashed, since nearby states of SplitMix give overlapping sequences.
  const auto number = 2 * static_cast<uint64_t>(index) + static_cast<uint64_t>(split);
  return SplitMix(SplitMix(seed_).next() ^ SplitMix(number).next());
}

std::span<std::byte> DemoPictures::encode(const std::vector<uint8_t>& pixels,
                                          SampleBuffers& buffers) const {
  const auto side = static_cast<int>(size_);
  const std::vector<std::byte> jpeg =
      encode_jpeg({.data = pixels.data(), .width = side, .height = side, .stride = 3 * side});
  const std::span<std::byte> image = buffers.bytes(jpeg.size());
  std::copy(jpeg.begin(), jpeg.end(), image.begin());
  return image;
}

}  // namespace ffkit
