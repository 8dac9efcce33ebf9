// The version of ffkit. CMake and the Python package take theirs from here. docs/stability.md says
// what stays the same from one version to the next.
#pragma once

#define FFKIT_VERSION_MAJOR 0
#define FFKIT_VERSION_MINOR 2
#define FFKIT_VERSION_PATCH 0
// "MAJOR.MINOR.PATCH"
#define FFKIT_VERSION "0.2.0"
