// Registry: all kinds of sources, for tools in which a user picks one by name. Immutable,
// thread-safe.
//
// A kind is a file sources/<folder>/<name>_kind.cpp with the function
//
//   SourceKind <name>_kind();
//
// The build finds it by the name of the file: a new kind needs no other change. The file may
// contain the source itself, too.
#pragma once

#include <string>

#include <ffkit/converter/source_kind.h>

namespace ffkit {

// The kind `name` of source_kinds(). Throws Error(not_found) that lists the names.
const SourceKind& source_kind(const std::string& name);

}  // namespace ffkit
