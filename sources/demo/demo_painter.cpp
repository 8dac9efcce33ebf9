#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "demo/demo_parts.h"

namespace ffkit {
namespace {

constexpr std::array<const char*, 12> kShapes = {"disc",    "square",    "triangle", "star",
                                                 "ring",    "plus",      "crescent", "hexagon",
                                                 "bow tie", "half disc", "bar",      "heart"};
constexpr std::array<const char*, 8> kTextures = {"striped across", "plain",        "chequered",
                                                  "dotted",         "striped down", "ringed",
                                                  "gridded",        "sliced"};
constexpr std::array<const char*, 3> kRims = {"", ", with a rim", ", pierced"};

struct DemoClass {
  explicit DemoClass(int64_t label)
      : shape(label % 12),
        // Neighbouring classes differ in texture as well as in shape.
        texture((label % 12 + label / 12) % 8),
        num_copies(1 + label / 96 % 4),
        rim(label / 384 % 3) {}
  int64_t shape;
  int64_t texture;
  int64_t num_copies;
  int64_t rim;
};

using Colour = std::array<double, 3>;  // 0 .. 255

// A random hue with about the given lightness (0 .. 1).
Colour draw_colour(SplitMix& random, double lightness) {
  Colour colour;
  for (double& channel : colour) channel = random.uniform(0.0, 1.0);
  const double mean = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2];
  for (double& channel : colour) {
    channel = 255 * std::clamp(lightness + 0.5 * (channel - mean), 0.0, 1.0);
  }
  return colour;
}

// A regular polygon or star: radius `inner` .. 1 along the edge, first corner at the top.
bool in_star(double u, double v, int corners, double inner) {
  const double step = std::numbers::pi / corners;
  const double angle = std::atan2(u, -v);
  const double folded = std::abs(std::remainder(angle, 2 * step));
  const double radius = std::hypot(u, v);
  // The edge from the corner (radius 1, angle 0) to the notch (radius `inner`, angle `step`).
  const double x = radius * std::cos(folded);
  const double y = radius * std::sin(folded);
  const double notch_x = inner * std::cos(step);
  const double notch_y = inner * std::sin(step);
  return (x - 1) * notch_y - y * (notch_x - 1) <= 0;
}

bool in_shape(int64_t shape, double u, double v) {
  // No shape reaches further.
  if (std::max(std::abs(u), std::abs(v)) > 1.001) return false;
  const double radius = std::hypot(u, v);
  switch (shape) {
    case 0:
      return radius <= 0.95;
    case 1:
      return std::max(std::abs(u), std::abs(v)) <= 0.8;
    case 2:
      return in_star(u, v, 3, 0.5);  // cos(60 degrees): a straight edge
    case 3:
      return in_star(u, v, 5, 0.42);
    case 4:
      return radius <= 1 && radius >= 0.5;
    case 5:
      return std::max(std::abs(u), std::abs(v)) <= 0.95 &&
             std::min(std::abs(u), std::abs(v)) <= 0.32;
    case 6:
      return radius <= 1 && std::hypot(u - 0.45, v) >= 0.8;
    case 7:
      return in_star(u, v, 6, 0.8660254037844386);  // cos(30 degrees)
    case 8:
      return std::abs(u) <= 0.95 && std::abs(v) <= 0.1 + 0.85 * std::abs(u);
    case 9:
      return radius <= 1 && v >= -0.1;
    case 10:
      return std::abs(u) <= 1 && std::abs(v) <= 0.4;
    default: {
      const double x = 1.2 * u;
      const double y = -1.2 * v + 0.1;
      const double lobe = x * x + y * y - 1;
      return lobe * lobe * lobe - x * x * y * y * y <= 0;
    }
  }
}

// True where the second colour of the texture shows.
bool in_texture(int64_t texture, double u, double v) {
  constexpr double kCells = 2.5;  // across half the shape
  const auto is_odd = [](double x) { return (static_cast<int64_t>(std::floor(x)) & 1) != 0; };
  const auto distance = [](double x) { return std::abs(x - std::floor(x) - 0.5); };
  switch (texture) {
    case 0:
      return is_odd(kCells * 2 * v);
    case 1:
      return false;
    case 2:
      return is_odd(kCells * 1.4 * u) != is_odd(kCells * 1.4 * v);
    case 3:
      return std::hypot(distance(kCells * u), distance(kCells * v)) < 0.3;
    case 4:
      return is_odd(kCells * 2 * u);
    case 5:
      return is_odd(kCells * 2 * std::hypot(u, v));
    case 6:
      return distance(kCells * u) > 0.36 || distance(kCells * v) > 0.36;
    default:
      return is_odd(std::atan2(v, u) * 5 / std::numbers::pi);
  }
}

struct Copy {
  double x, y, radius, cos, sin;
};

class Picture {
 public:
  Picture(int64_t label, double size, SplitMix& random) : class_(label), size_(size) {
    // Three bands of lightness in random order: every part stands out, none has a lightness of its
    // own.
    std::array<double, 3> bands = {random.uniform(0.1, 0.25), random.uniform(0.42, 0.55),
                                   random.uniform(0.75, 0.9)};
    for (size_t i = bands.size(); i > 1; --i) std::swap(bands[i - 1], bands[random.below(i)]);
    ground_ = draw_colour(random, bands[0]);
    far_ground_ = draw_colour(random, bands[0]);
    first_ = draw_colour(random, bands[1]);
    second_ = draw_colour(random, bands[2]);
    const double slope = random.uniform(0, 2 * std::numbers::pi);
    slope_x_ = std::cos(slope) / size;
    slope_y_ = std::sin(slope) / size;
    place_copies(random);
    for (Copy& speck : specks_) {
      speck = {random.uniform(0, size), random.uniform(0, size),
               random.uniform(0.01, 0.035) * size};
    }
    speck_colour_ = draw_colour(random, random.uniform(0.1, 0.9));
  }

  Colour at(double x, double y) const {
    for (const Copy& copy : copies_) {
      // Most points are further away than any shape reaches.
      if (std::max(std::abs(x - copy.x), std::abs(y - copy.y)) > 1.5 * copy.radius) continue;
      const double dx = (x - copy.x) / copy.radius;
      const double dy = (y - copy.y) / copy.radius;
      const double u = copy.cos * dx + copy.sin * dy;
      const double v = copy.cos * dy - copy.sin * dx;
      if (!in_shape(class_.shape, u, v)) continue;
      if (class_.rim == 2 && std::hypot(u, v) < 0.28) continue;
      if (class_.rim == 1 && !in_shape(class_.shape, u / 0.78, v / 0.78)) return second_;
      return in_texture(class_.texture, u, v) ? second_ : first_;
    }
    for (const Copy& speck : specks_) {
      const double dx = std::abs(x - speck.x);
      const double dy = std::abs(y - speck.y);
      if (std::max(dx, dy) < speck.radius && std::hypot(dx, dy) < speck.radius) {
        return speck_colour_;
      }
    }
    const double share =
        std::clamp(0.5 + (x - size_ / 2) * slope_x_ + (y - size_ / 2) * slope_y_, 0.0, 1.0);
    Colour colour;
    for (size_t c = 0; c < 3; ++c) colour[c] = std::lerp(ground_[c], far_ground_[c], share);
    return colour;
  }

 private:
  void place_copies(SplitMix& random) {
    if (class_.num_copies == 1) {
      const double radius = random.uniform(0.27, 0.42) * size_;
      copies_.push_back(draw_copy(random, radius, size_ - radius, radius, size_ - radius, radius));
      return;
    }
    // Quarters of the picture, so that copies never overlap.
    std::array<size_t, 4> quarters = {0, 1, 2, 3};
    for (size_t i = quarters.size(); i > 1; --i) {
      std::swap(quarters[i - 1], quarters[random.below(i)]);
    }
    for (int64_t i = 0; i < class_.num_copies; ++i) {
      const double half = size_ / 2;
      const double left = quarters[static_cast<size_t>(i)] % 2 == 0 ? 0 : half;
      const double top = quarters[static_cast<size_t>(i)] / 2 == 0 ? 0 : half;
      const double radius = random.uniform(0.17, 0.23) * size_;
      copies_.push_back(draw_copy(random, left + radius, left + half - radius, top + radius,
                                  top + half - radius, radius));
    }
  }

  static Copy draw_copy(SplitMix& random, double left, double right, double top, double bottom,
                        double radius) {
    const double x = random.uniform(left, right);
    const double y = random.uniform(top, bottom);
    const double turn = random.uniform(-0.3, 0.3);
    return {x, y, radius, std::cos(turn), std::sin(turn)};
  }

  DemoClass class_;
  double size_;
  Colour ground_, far_ground_, first_, second_, speck_colour_;
  double slope_x_, slope_y_;
  std::vector<Copy> copies_;
  std::array<Copy, 8> specks_;
};

}  // namespace

std::string demo_class_name(int64_t label) {
  const DemoClass demo(label);
  const std::string name = fmt::format("{}, {}{}", kShapes[static_cast<size_t>(demo.shape)],
                                       kTextures[static_cast<size_t>(demo.texture)],
                                       kRims[static_cast<size_t>(demo.rim)]);
  return demo.num_copies == 1 ? name : fmt::format("{} x {}", demo.num_copies, name);
}

std::vector<uint8_t> paint_demo_picture(int64_t label, int64_t size, SplitMix& random) {
  constexpr std::array<double, 2> kSubpixels = {0.25, 0.75};
  const Picture picture(label, static_cast<double>(size), random);
  const double noise = random.uniform(3, 16);
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(size * size * 3));
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      Colour sum = {};
      for (const double sub_y : kSubpixels) {
        for (const double sub_x : kSubpixels) {
          const Colour colour =
              picture.at(static_cast<double>(x) + sub_x, static_cast<double>(y) + sub_y);
          for (size_t c = 0; c < 3; ++c) sum[c] += colour[c] / 4;
        }
      }
      for (const double channel : sum) {
        // Two uniform numbers make a triangular distribution: near enough to a camera's noise.
        const double speckle = noise * (random.uniform(-1, 1) + random.uniform(-1, 1));
        pixels.push_back(static_cast<uint8_t>(std::clamp(channel + speckle + 0.5, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

}  // namespace ffkit
