// Registry: the kinds of sources there are, for tools that let a user pick one by name. Immutable,
// thread-safe.
//
// A kind is a file sources/<folder>/<name>_kind.cpp with the function
//
//   SourceKind <name>_kind();
//
// whose call is written from the name of the file: a new kind needs no other change. The file may
// hold the source itself, too.
#pragma once

#include <string>

#include <ffkit/converter/source_kind.h>

namespace ffkit {

// Of source_kinds(), the kind called `name`. Throws Error(not_found) that lists the names there
// are.
const SourceKind& source_kind(const std::string& name);

}  // namespace ffkit
