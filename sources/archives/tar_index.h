// Tar index: where the members of a tar file lie, so that they can be read in place, from many
// threads, without unpacking.
//
// Only headers are read (libarchive parses them), the members' bytes are skipped. Works on a range
// of a file, so that a tar within a tar is indexed where it is. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/input/input_file.h"

namespace ffkit {

// A range of bytes in a file.
struct FileRange {
  int64_t offset = 0;
  int64_t num_bytes = 0;
};

struct TarMember {
  std::string name;  // relative path without leading "./"
  FileRange data;    // absolute in the file
};

// Lists the regular files of the tar that fills `range` of `file`, in their order; folders are left
// out. `name` stands for the tar in messages ("train.tar" or "train.tar: n01440764.tar"). Throws
// Error(corrupt) for a tar that is cut short or damaged, and Error(unsupported) for compressed ones
// and for members that are hostile or no plain files: absolute paths, "..", links, devices, sparse
// files, names that are no UTF-8. `num_beside`: how many tars are indexed at the same time; of one
// in a store the fewer, the more of its headers are asked for at once.
std::vector<TarMember> index_tar(const InputFile& file, FileRange range, const std::string& name,
                                 size_t num_beside = 1);

// The whole file as a tar.
std::vector<TarMember> index_tar(const InputFile& file, size_t num_beside = 1);

// The members of a tar, header by header. Of a tar in a store each header is a request that waits
// for the one before it, so a long one is read in segments, side by side:
//
//   |h....h....h....|h....h....h....|h....h....|
//    from its begin   from a header that was     each until the next one begins
//                     found by its checksum
//
// A segment counts only where the one before it ends at its very first header; else that one goes
// on. So the members are those that are found from front to back.

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
