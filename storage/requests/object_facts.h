// ObjectFacts: what a store says of an object. RangeOfObject: what is read of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ffkit {

struct ObjectFacts {
  int64_t num_bytes = -1;  // -1: not known
  std::string version;     // the ETag as the store writes it; empty where it has none
};

struct RangeOfObject {
  std::string address = {};  // of the object, and for errors
  int64_t offset = 0;
  std::span<std::byte> into = {};
  // The version and the length that the object must have, where they are known.
  ObjectFacts known = {};
  // Becomes the ETag of what was read, before `done` is called; null: nobody wants to know.
  std::shared_ptr<std::string> found_version = nullptr;
};

}  // namespace ffkit
