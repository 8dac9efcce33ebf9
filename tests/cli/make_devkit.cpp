// make_devkit FOLDER NUMBER...: writes FOLDER/ILSVRC2012_devkit_t12/ with three classes (n01000000,
// n02000000, n03000000, whose ILSVRC2012_IDs are 2, 3, 1) and the given numbers as ground truth.
#include <cstdio>
#include <exception>
#include <string>

#include "meta_mat_builder.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::string ground_truth;
  for (int i = 2; i < argc; ++i) ground_truth += std::string(argv[i]) + "\n";
  try {
    ffkit::testing::write_devkit(argv[1], ground_truth);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_devkit: %s\n", error.what());
    return 1;
  }
  return 0;
}
