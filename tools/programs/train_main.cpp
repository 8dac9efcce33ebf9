// The programs of the wheel ffkit-train in one file; the name that it is called by says which.
#include "tools/common/programs.h"

int main(int argc, char** argv) {
  static constexpr ffkit::Program kPrograms[] = {{"fftrain", ffkit::run_fftrain},
                                                 {"ffgenerate", ffkit::run_ffgenerate}};
  return ffkit::run_by_name(kPrograms, argc, argv);
}
