// fftrain: trains a task on a data set folder.
#include "tools/common/programs.h"

int main(int argc, char** argv) {
  return ffkit::run_fftrain(argc, argv);
}
