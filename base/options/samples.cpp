#include <ffkit/base/samples.h>

#include "enum_names.h"

namespace ffkit {

constexpr EnumName<Order> kOrderNames[] = {{Order::sequential, "sequential"},
                                           {Order::shuffle, "shuffle"},
                                           {Order::windowed, "windowed"},
                                           {Order::weighted, "weighted"},
                                           {Order::automatic, "automatic"}};
std::string_view to_string(Order order) {
  return name_of(kOrderNames, order);
}

Order parse_order(std::string_view name) {
  return value_of(kOrderNames, name, "order");
}

constexpr EnumName<BadSamples> kBadSamplesNames[] = {
    {BadSamples::fail, "fail"}, {BadSamples::skip, "skip"}, {BadSamples::keep, "keep"}};
std::string_view to_string(BadSamples bad_samples) {
  return name_of(kBadSamplesNames, bad_samples);
}

BadSamples parse_bad_samples(std::string_view name) {
  return value_of(kBadSamplesNames, name, "bad_samples");
}

}  // namespace ffkit
