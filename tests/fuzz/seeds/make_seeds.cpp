// Writes the seeds of all fuzz targets: ffkit_make_seeds FOLDER
#include <cstdio>
#include <exception>

#include "seeds/seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    ffkit::fuzzing::make_seeds(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ffkit_make_seeds: error: %s\n", e.what());
    return 1;
  }
}
