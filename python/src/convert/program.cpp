// The command line of ffconvert, which the script of that name runs (scripts/program): within
// Python, whose pyarrow reads parquet.
#include <nanobind/nanobind.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "bindings.h"
#include "tools/common/programs.h"

namespace ffkit::python {
namespace {

int run_ffconvert_of(const nb::list& words) {
  std::vector<std::string> arguments;
  for (const nb::handle word : words) {
    const auto bytes = nb::cast<nb::bytes>(word);
    arguments.emplace_back(bytes.c_str(), bytes.size());
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release release;
  const int status = run_ffconvert(static_cast<int>(arguments.size()), pointers.data());
  std::cout.flush();
  std::fflush(nullptr);
  return status;
}

}  // namespace

void bind_program(nb::module_& module) {
  module.def("run_ffconvert", &run_ffconvert_of, nb::arg("words"));
}

}  // namespace ffkit::python
