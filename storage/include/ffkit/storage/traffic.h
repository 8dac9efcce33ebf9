// Requests to stores. Thread-safe.
#pragma once

#include <cstdint>

namespace ffkit {

// Number of requests of this process to stores so far, and the bytes of the answers.
struct StoreTraffic {
  int64_t requests = 0;
  int64_t bytes = 0;
};
StoreTraffic store_traffic();

}  // namespace ffkit
