// What the files of the extension share. Each binds some classes or functions of ffkit as they are;
// names, defaults and documentation for users are in python/ffkit.
//
// The GIL: a function that may block, read or take a lock releases it (nb::gil_scoped_release)
// around the call of C++. Errors: an ffkit::Error becomes an ffkit.Error (errors.cpp); nothing has
// to be caught.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace nb = nanobind;

namespace ffkit::python {

template <typename Work>
auto without_gil(Work&& work) {
  const nb::gil_scoped_release release;
  return std::forward<Work>(work)();
}

void bind_errors(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_batch(nb::module_& module);
void bind_loader(nb::module_& module);
void bind_random(nb::module_& module);
void bind_writer(nb::module_& module);
void bind_convert(nb::module_& module);
void bind_parquet(nb::module_& module);
void bind_program(nb::module_& module);
void bind_copy(nb::module_& module);
void bind_cache(nb::module_& module);
void bind_nuscenes(nb::module_& module);

}  // namespace ffkit::python
