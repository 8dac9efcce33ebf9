// What a conversion has written, or would write, as Python's dicts: ffkit/convert.py makes data
// classes of them.
#pragma once

#include <nanobind/nanobind.h>

#include <ffkit/converter/summary.h>

namespace ffkit::python {

nanobind::dict to_python(const SplitSummary& split);
nanobind::dict to_python(const ConvertSummary& summary);
nanobind::dict to_python(const ConvertEstimate& estimate);

}  // namespace ffkit::python
