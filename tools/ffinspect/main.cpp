// ffinspect, as a program.
#include "tools/programs/programs.h"

int main(int argc, char** argv) {
  return ffkit::run_ffinspect(argc, argv);
}
