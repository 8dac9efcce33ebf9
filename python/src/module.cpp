#include <ffkit/base/version.h>

#include "bindings.h"

NB_MODULE(_ffkit, module) {
  module.doc() = "The C++ side of ffkit. Use the package ffkit; names here may change.";
  module.attr("version") = FFKIT_VERSION;
  ffkit::python::bind_errors(module);
  ffkit::python::bind_dataset(module);
  ffkit::python::bind_random(module);
  ffkit::python::bind_batch(module);
  ffkit::python::bind_loader(module);
  ffkit::python::bind_writer(module);
  ffkit::python::bind_convert(module);
  ffkit::python::bind_copy(module);
  ffkit::python::bind_program(module);
  ffkit::python::bind_cache(module);
  ffkit::python::bind_nuscenes(module);
  // At the end of the interpreter some objects live on, such as those in the globals of other
  // extensions. That is no leak of ours.
  nb::set_leak_warnings(false);
}
