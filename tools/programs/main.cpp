// The programs of the Python package in one file; the name that it is called by says which.
#include "tools/common/programs.h"

int main(int argc, char** argv) {
  static constexpr ffkit::Program kPrograms[] = {{"ffconvert", ffkit::run_ffconvert},
                                                 {"ffeval", ffkit::run_ffeval},
                                                 {"ffinspect", ffkit::run_ffinspect}};
  return ffkit::run_by_name(kPrograms, argc, argv);
}
