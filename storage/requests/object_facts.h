// ObjectFacts: what a store says of an object.
#pragma once

#include <cstdint>
#include <string>

namespace ffkit {

struct ObjectFacts {
  int64_t num_bytes = -1;  // -1: not known
  std::string version;     // the ETag as the store writes it; empty where it has none
};

}  // namespace ffkit
