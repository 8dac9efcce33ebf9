// The members of a tar, header by header. Of a tar in a store each header is a request that waits
// for the one before it, so a long one is read in segments, side by side:
//
//   |h....h....h....|h....h....h....|h....h....|
//    from its begin   from a header that was     each until the next one begins
//                     found by its checksum
//
// A segment counts only where the one before it ends at its very first header; else that one goes
// on. So the members are those that are found from front to back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"

namespace ffkit {

struct TarScan {
  std::vector<TarMember> members;
  int64_t end_of_members = 0;  // behind the last one's bytes, in the range
  int64_t next_header = -1;    // where it stopped, in the range; -1: at the end of the archive
};

// All members of the tar that fills `range`, as index_tar() has it, but for its end. `num_beside`:
// archives that are scanned at the same time, this one included.
TarScan scan_tar(const InputFile& file, FileRange range, const std::string& name,
                 size_t num_beside);

}  // namespace ffkit
