#include "batch/mix_draw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ffkit {
namespace {

// Uniform in (0, 1].
double uniform_above_zero(CounterRandom& random) {
  return 1 - random.uniform();
}

double draw_normal(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(uniform_above_zero(random)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The logarithm of a Gamma(alpha, 1) number. Below about 1e-307 its last summand, log_uniform /
// alpha, may be minus infinity.
struct LogGamma {
  double value = 0;
  double log_uniform = 0;
};

LogGamma draw_log_gamma(double alpha, CounterRandom& random) {
  double log_uniform = 0;
  double log_boost = 0;
  if (alpha < 1) {
    log_uniform = std::log(uniform_above_zero(random));
    log_boost = log_uniform / alpha;
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    const double u = uniform_above_zero(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return {std::log(d * v) + log_boost, log_uniform};
    }
  }
}

// One axis of CutMix's box.
void cut(int64_t length, double ratio, CounterRandom& random, int& first, int& count) {
  const int64_t center = random.below(length);
  const auto half = static_cast<int64_t>(ratio * static_cast<double>(length));
  const int64_t begin = std::max<int64_t>(center - half, 0);
  first = static_cast<int>(begin);
  count = static_cast<int>(std::min(center + half, length) - begin);
}

}  // namespace

double draw_beta(double alpha, CounterRandom& random) {
  const LogGamma a = draw_log_gamma(alpha, random);
  const LogGamma b = draw_log_gamma(alpha, random);
  if (std::isinf(a.value) && std::isinf(b.value)) return a.log_uniform > b.log_uniform ? 1 : 0;
  return 1 / (1 + std::exp(b.value - a.value));
}

MixDraw draw_mix(const MixOptions& options, CounterRandom& random, ImageSize size) {
  MixDraw draw;
  draw.is_cutmix = options.cutmix_alpha > 0;
  if (draw.is_cutmix && options.mixup_alpha > 0) draw.is_cutmix = random.below(2) == 1;
  draw.lambda = draw_beta(draw.is_cutmix ? options.cutmix_alpha : options.mixup_alpha, random);
  if (!draw.is_cutmix) return draw;
  const double ratio = 0.5 * std::sqrt(1 - draw.lambda);
  cut(size.width, ratio, random, draw.box.x, draw.box.width);
  cut(size.height, ratio, random, draw.box.y, draw.box.height);
  const double area = static_cast<double>(draw.box.width) * draw.box.height;
  draw.lambda = 1 - area / static_cast<double>(size.width * size.height);
  return draw;
}

}  // namespace ffkit
