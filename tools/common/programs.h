// The programs as functions: a wheel has them in one file, which holds the library once.
#pragma once

#include <fmt/format.h>
#include <stdio.h>

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
inline int run_by_name(std::span<const Program> programs, int argc, char** argv) {
  std::string_view name = argc > 0 ? argv[0] : "";
  name.remove_prefix(name.rfind('/') + 1);
  for (const Program& program : programs) {
    if (name == program.name) return program.run(argc, argv);
  }
  fmt::print(stderr, "'{}' is no program of ffkit; they are", name);
  for (size_t i = 0; i < programs.size(); ++i) {
    const char* before = i == 0 ? " " : i + 1 < programs.size() ? ", " : " and ";
    fmt::print(stderr, "{}{}", before, programs[i].name);
  }
  fmt::print(stderr, "\n");
  return 2;
}

}  // namespace ffkit
