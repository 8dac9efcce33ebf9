// The limit on threads, met before TBB meets it: TBB starts its threads one by one and from one
// another, and ends the process when one cannot be started.
#pragma once

namespace ffkit {

// How many of `num_threads` threads can run at once beside those there are: 1 or more. Starts and
// ends them, some 20 us each; what was found once is not tried again.
int num_startable_threads(int num_threads);

// Throws Error(io) when `num_threads` threads cannot run at once.
void require_threads(int num_threads);

}  // namespace ffkit
