// libjpeg's interface; jpeglib.h itself does not include what it needs.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
