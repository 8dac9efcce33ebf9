// The version of ffkit, also for CMake and the Python package. docs/stability.md lists what stays
// the same between versions.
#pragma once

#define FFKIT_VERSION_MAJOR 1
#define FFKIT_VERSION_MINOR 0
#define FFKIT_VERSION_PATCH 0
// "MAJOR.MINOR.PATCH"
#define FFKIT_VERSION "1.0.0"
