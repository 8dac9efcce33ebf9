// The programs as functions: a wheel has them in one file, which holds the library once.
#pragma once

#include <span>
#include <string_view>

namespace ffkit {

// As main() of the program that each is named after. Other programs may add tasks of their own and
// call run_fftrain(), which knows every task of the TaskRegistry.
int run_ffconvert(int argc, char** argv);
int run_ffeval(int argc, char** argv);
int run_ffinspect(int argc, char** argv);
int run_fftrain(int argc, char** argv);
int run_ffgenerate(int argc, char** argv);

struct Program {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

// The program that the file is called by, or status 2 and a sentence.
int run_by_name(std::span<const Program> programs, int argc, char** argv);

}  // namespace ffkit
