// main() of a program, or of several in one file, as wheels have them: then the name that it is
// called by says which. The build lists them in FFKIT_PROGRAMS.
#include <iterator>

#include "tools/common/programs.h"

#define FFKIT_PROGRAM(name) {#name, ffkit::run_##name},

int main(int argc, char** argv) {
  static constexpr ffkit::Program kPrograms[] = {FFKIT_PROGRAMS};
  if (std::size(kPrograms) == 1) return kPrograms[0].run(argc, argv);
  return ffkit::run_by_name(kPrograms, argc, argv);
}
