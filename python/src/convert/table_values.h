// Tables of options (ffkit/base/option_table.h) between Python and C++. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <ffkit/base/option_table.h>

namespace ffkit::python {

// Gives the options of a dict to the table; keys are Option::key(). Throws TypeError for a name
// that the table does not have and for a value of another type, and as Option::give().
void give(OptionTable& table, nanobind::dict given);

// A list of dicts, one an option, with "name", "group", "help", "type", "choices", "range",
// "default" (None where nothing is given) and "default_text".
nanobind::list to_python(const OptionTable& table);

}  // namespace ffkit::python
