// What fails when a read is begun is told by `done`, as what fails later.
#pragma once

#include <exception>

#include "stores/object_store.h"

namespace ffkit {

// `begin` must not have called `done` where it throws.
template <typename Begin>
void begin_read(const ObjectStore::Done& done, const Begin& begin) {
  try {
    begin();
  } catch (...) {
    done(std::current_exception());
  }
}

}  // namespace ffkit
