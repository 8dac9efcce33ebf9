// ImageTransform from Python's options of the same names.
#pragma once

#include <ffkit/image/transform.h>

#include "python_value.h"

namespace ffkit::python {

// Throws TypeError for what is no transform, and for values of other types.
ImageTransform transform_from_python(nb::handle object);

}  // namespace ffkit::python
