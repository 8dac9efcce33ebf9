// NumPy's file format for one array (numpy.lib.format, version 1.0).
#pragma once

#include <string>

#include <ffkit/format/record.h>

namespace ffkit {

// The tensor as the content of a .npy file. NumPy has no bfloat16: such tensors become float32,
// which loses nothing.
std::string npy_file(const TensorView& tensor);

}  // namespace ffkit
