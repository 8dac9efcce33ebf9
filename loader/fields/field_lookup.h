// Fields of a schema that a decoder reads: where they are, or why they cannot serve.
#pragma once

#include <cstddef>
#include <string>

#include <ffkit/format/schema.h>

namespace ffkit {

// Throws Error(invalid_argument): the field is of a type that cannot serve; `expected` could.
[[noreturn]] void refuse_field(const Field& field, const std::string& expected);
// The place of a field of encoded pictures: an image or bytes. Throws Error(not_found), or as
// refuse_field().
size_t require_image(const Schema& schema, const std::string& field,
                     const std::string& expected = "an image");
// Of a tensor.
size_t require_tensor(const Schema& schema, const std::string& field);

}  // namespace ffkit
