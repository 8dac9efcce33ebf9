// The programs of the Python package in one file; the name that it is called by says which.
#include <fmt/format.h>
#include <stdio.h>

#include <string_view>

#include "tools/programs/programs.h"

int main(int argc, char** argv) {
  std::string_view name = argc > 0 ? argv[0] : "";
  name.remove_prefix(name.rfind('/') + 1);
  if (name == "ffconvert") return ffkit::run_ffconvert(argc, argv);
  if (name == "ffeval") return ffkit::run_ffeval(argc, argv);
  if (name == "ffinspect") return ffkit::run_ffinspect(argc, argv);
  fmt::print(stderr, "'{}' is no program of ffkit; they are ffconvert, ffeval and ffinspect\n",
             name);
  return 2;
}
