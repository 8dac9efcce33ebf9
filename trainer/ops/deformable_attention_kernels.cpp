#include "ops/deformable_attention_kernels.h"

#include "ops/deformable_attention_threads.h"

// The kernels stand once for each processor in the object file; the best one is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/deformable_attention_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls `work` with a tag and a first channel until `dims` channels are done: whole vectors, then 8
// at a time, then one.
template <typename T, typename Work>
HWY_INLINE void for_channels(int64_t dims, const Work& work) {
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 8> narrow;
  const hn::CappedTag<T, 1> single;
  int64_t d = 0;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  for (; d + lanes <= dims; d += lanes) work(wide, d);
  const auto few = static_cast<int64_t>(hn::Lanes(narrow));
  for (; d + few <= dims; d += few) work(narrow, d);
  for (; d < dims; ++d) work(single, d);
}

template <typename T>
void attend_all(const DeformableAttentionShape& s, const DeformableAttentionInput<T>& input,
                int64_t first, int64_t last, T* out) {
  const int64_t channels = s.heads * s.dims;
  const auto num_levels = std::ssize(s.levels);
  for (int64_t bq = first; bq < last; ++bq) {
    const T* value = input.value + bq / s.queries * s.pixels * channels;
    T* row = out + bq * channels;
    for (int64_t i = 0; i < channels; ++i) row[i] = 0;
    for (int64_t h = 0; h < s.heads; ++h) {
      T* sums = row + h * s.dims;
      int64_t point = (bq * s.heads + h) * num_levels * s.points;
      for (const DeformableAttentionShape::Level& level : s.levels) {
        for (int64_t p = 0; p < s.points; ++p, ++point) {
          Corners<T> c;
          if (!find_corners(level, input.locations + 2 * point, c)) continue;
          const T weight = input.weights[point];
          const T* in[4];
          for (int i = 0; i < 4; ++i) in[i] = value + c.pixel[i] * channels + h * s.dims;
          for_channels<T>(s.dims, [&](auto tag, int64_t d) {
            auto sum = hn::LoadU(tag, sums + d);
            for (int i = 0; i < 4; ++i) {
              sum = hn::MulAdd(hn::LoadU(tag, in[i] + d), hn::Set(tag, weight * c.share[i]), sum);
            }
            hn::StoreU(sum, tag, sums + d);
          });
        }
      }
    }
  }
}

// What one point of one query gives back. `value_gradient` may be null.
template <typename T>
HWY_INLINE void give_back(const Corners<T>& c, const DeformableAttentionShape::Level& level,
                          int64_t dims, T weight, const T* out_gradient, const T* const in[4],
                          T* const value_gradient[4], T* location_gradient, T* weight_gradient) {
  T dot[4] = {};  // of the gradient with each pixel
  for_channels<T>(dims, [&](auto tag, int64_t d) {
    const auto g = hn::LoadU(tag, out_gradient + d);
    for (int i = 0; i < 4; ++i) {
      if (!c.is_inside[i]) continue;
      const auto product = hn::Mul(g, hn::LoadU(tag, in[i] + d));
      dot[i] += hn::GetLane(hn::SumOfLanes(tag, product));
    }
  });
  T sum = 0;
  for (int i = 0; i < 4; ++i) sum += c.share[i] * dot[i];
  *weight_gradient = sum;
  const T by_x = (dot[1] - dot[0]) * (T(1) - c.low) + (dot[3] - dot[2]) * c.low;
  const T by_y = (dot[2] - dot[0]) * (T(1) - c.right) + (dot[3] - dot[1]) * c.right;
  location_gradient[0] = weight * by_x * static_cast<T>(level.width);
  location_gradient[1] = weight * by_y * static_cast<T>(level.height);
  if (value_gradient[0] == nullptr) return;
  // One pixel after the other: outside of the map, two of them are the same.
  for (int i = 0; i < 4; ++i) {
    if (!c.is_inside[i]) continue;
    for_channels<T>(dims, [&](auto tag, int64_t d) {
      const auto g = hn::LoadU(tag, out_gradient + d);
      T* to = value_gradient[i] + d;
      hn::StoreU(hn::MulAdd(g, hn::Set(tag, weight * c.share[i]), hn::LoadU(tag, to)), tag, to);
    });
  }
}

template <typename T>
void attend_back(const DeformableAttentionShape& s, const DeformableAttentionInput<T>& input,
                 const DeformableAttentionGradients<T>& gradients, int64_t first, int64_t last) {
  const int64_t channels = s.heads * s.dims;
  const auto num_levels = std::ssize(s.levels);
  for (int64_t bh = first; bh < last; ++bh) {
    const int64_t b = bh / s.heads;
    const int64_t h = bh % s.heads;
    const int64_t offset = b * s.pixels * channels + h * s.dims;
    for (int64_t q = 0; q < s.queries; ++q) {
      const int64_t bq = b * s.queries + q;
      const T* out_gradient = gradients.out + bq * channels + h * s.dims;
      int64_t point = (bq * s.heads + h) * num_levels * s.points;
      for (const DeformableAttentionShape::Level& level : s.levels) {
        for (int64_t p = 0; p < s.points; ++p, ++point) {
          T* location_gradient = gradients.locations + 2 * point;
          T* weight_gradient = gradients.weights + point;
          Corners<T> c;
          if (!find_corners(level, input.locations + 2 * point, c)) {
            location_gradient[0] = location_gradient[1] = *weight_gradient = 0;
            continue;
          }
          const T* in[4];
          T* value_gradient[4] = {};
          for (int i = 0; i < 4; ++i) {
            const int64_t place = offset + c.pixel[i] * channels;
            in[i] = input.value + place;
            if (gradients.value != nullptr) value_gradient[i] = gradients.value + place;
          }
          give_back(c, level, s.dims, input.weights[point], out_gradient, in, value_gradient,
                    location_gradient, weight_gradient);
        }
      }
    }
  }
}

// Names without a type, as HWY_EXPORT wants them.
constexpr auto& attend_f32 = attend_all<float>;
constexpr auto& attend_f64 = attend_all<double>;
constexpr auto& attend_back_f32 = attend_back<float>;
constexpr auto& attend_back_f64 = attend_back<double>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {

HWY_EXPORT(attend_f32);
HWY_EXPORT(attend_f64);
HWY_EXPORT(attend_back_f32);
HWY_EXPORT(attend_back_f64);

void attend(const DeformableAttentionShape& shape, const DeformableAttentionInput<float>& input,
            int64_t first, int64_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(attend_f32)(shape, input, first, last, out);
}

void attend(const DeformableAttentionShape& shape, const DeformableAttentionInput<double>& input,
            int64_t first, int64_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(attend_f64)(shape, input, first, last, out);
}

void attend_backward(const DeformableAttentionShape& shape,
                     const DeformableAttentionInput<float>& input,
                     const DeformableAttentionGradients<float>& gradients, int64_t first,
                     int64_t last) {
  HWY_DYNAMIC_DISPATCH(attend_back_f32)(shape, input, gradients, first, last);
}

void attend_backward(const DeformableAttentionShape& shape,
                     const DeformableAttentionInput<double>& input,
                     const DeformableAttentionGradients<double>& gradients, int64_t first,
                     int64_t last) {
  HWY_DYNAMIC_DISPATCH(attend_back_f64)(shape, input, gradients, first, last);
}

}  // namespace ffkit
#endif
