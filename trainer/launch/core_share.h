#pragma once

namespace ffkit {

// Cores for one of the `local_world_size` processes of this machine: as many as it may use, but no more than its share of all; >= 1.
int core_share(int local_world_size);

}  // namespace ffkit
