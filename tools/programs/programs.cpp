#include "tools/common/programs.h"

#include <fmt/format.h>
#include <stdio.h>

int ffkit::run_by_name(std::span<const Program> programs, int argc, char** argv) {
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
