// What stores were asked. Thread-safe.
#pragma once

#include <cstdint>

namespace ffkit {

// All that this process has sent to stores so far, and the bytes of the answers.
struct StoreTraffic {
  int64_t requests = 0;
  int64_t bytes = 0;
};
StoreTraffic store_traffic();

}  // namespace ffkit
