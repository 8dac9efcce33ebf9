#include "launch/core_share.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace ffkit {

int core_share(int local_world_size) {
  const int allowed = std::max(1, int(std::thread::hardware_concurrency()));
  const int share = int(sysconf(_SC_NPROCESSORS_ONLN)) / local_world_size;
  return std::clamp(share, 1, allowed);
}

}  // namespace ffkit
