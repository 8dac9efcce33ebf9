// Demo pictures: textured shapes on a plain ground. What tells classes apart is shape, texture,
// number of shapes and rim; colours, places, sizes, turns, specks and noise are drawn at random and
// tell nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/input/splitmix.h"

namespace ffkit {

// 12 shapes x 8 textures x 1 .. 4 copies x 3 rims.
inline constexpr int64_t kMaxDemoClasses = 12 * 8 * 4 * 3;

// "disc, striped across", "3 x star, dotted, with a rim", ...
std::string demo_class_name(int64_t label);

// A picture of class `label`, [size, size, 3] u8 RGB. A pure function of its arguments and the
// state of `random`.
std::vector<uint8_t> paint_demo_picture(int64_t label, int64_t size, SplitMix& random);

}  // namespace ffkit
