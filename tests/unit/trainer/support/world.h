// A world of processes that train together, played by threads.
#pragma once

#include <exception>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "distributed/communicator.h"
#include "temp_dir.h"

namespace ffkit::testing {

// Runs `body` once for each rank, each on a thread of its own; rethrows the first error. They meet
// in `file`, or in one that is empty.
inline void run_world(int world_size, const std::function<void(Communicator&)>& body,
                      double timeout_seconds = 60, const std::string& file = {}) {
  const TempDir temp;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(world_size));
  // Nobody leaves before all have met: those that are still connecting would find the connection
  // closed.
  std::latch met(world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      bool has_met = false;
      try {
        ProcessPlace place;
        place.rank = place.local_rank = rank;
        place.world_size = place.local_world_size = world_size;
        place.meeting_point = "file://" + (file.empty() ? (temp / "store").string() : file);
        place.key_prefix = "test";
        place.timeout_seconds = timeout_seconds;
        Communicator communicator(place, c10::kCPU);
        has_met = true;
        met.arrive_and_wait();
        body(communicator);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
        if (!has_met) met.count_down();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace ffkit::testing
