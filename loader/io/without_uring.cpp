// Stands for uring_read_engine.cpp where there is no liburing.
#include "io/kernel_read_engine.h"

namespace ffkit {

std::unique_ptr<KernelReadEngine> make_uring_read_engine(std::vector<int> /*files*/,
                                                         const ReadEngineOptions& /*options*/,
                                                         UringRefusal& refusal,
                                                         MakeInstead /*make_instead*/) {
  refusal = {};
  return nullptr;
}

}  // namespace ffkit
