// ffeval, as a program.
#include "tools/common/programs.h"

int main(int argc, char** argv) {
  return ffkit::run_ffeval(argc, argv);
}
