// A checkpoint in parts: a folder with a file of each process that writes some of it, for state
// that several processes share. No process needs all of it in memory, and they write at the same
// time.
//
//   epoch-0001.parts/
//     part-00000.safetensors ...   what a process wrote: its tensors, and in the metadata
//                                  what of the whole ones they are
//     manifest.safetensors         metadata and tensors of a checkpoint in one file
//                                  (checkpoint.h), but for the tensors of the parts, which the
//                                  metadata "parts" lists: each
//                                  with its file, its place in the whole tensor and its CRC-32C
//
// The manifest is written when all parts are on the disk, and the folder has a temporary name until
// the manifest is: a folder of this name is a whole checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "distributed/communicator.h"
#include "files/safetensors.h"

namespace ffkit {

// A part of a whole tensor: an interval of indices in each dimension.
struct TensorBox {
  std::vector<int64_t> begin, size;
};

// TensorShare: which numbers of a whole tensor a process has, or a file. Plain values and pure
// functions.
struct TensorShare {
  std::vector<int64_t> whole_shape;
  int64_t dimension = 0;  // along which the boxes lie behind each other in the share's tensor
  // >= 1; they do not overlap, and have the same sizes in the other dimensions.
  std::vector<TensorBox> boxes;

  // All of a tensor of this shape.
  static TensorShare of_all(std::vector<int64_t> shape);
  // The shape and size of the tensor that holds the share.
  std::vector<int64_t> shape() const;
  int64_t num_elements() const;
};

// A tensor of a process with its place in the whole one of that name.
struct SharedTensor {
  std::string name;
  at::Tensor tensor;  // of share.shape()
  TensorShare share;
};

// Whether both have some numbers of the same whole tensor.
bool overlap(const TensorShare& a, const TensorShare& b);

// Copies what both have; returns how many numbers. The tensors are those of the shares.
int64_t copy_share(const at::Tensor& from, const TensorShare& from_share, const at::Tensor& to,
                   const TensorShare& to_share);

// "Float [2, 3]", for messages.
std::string type_and_shape(at::ScalarType type, at::IntArrayRef shape);
// Errors of a checkpoint, of one file or in parts, whose tensors are not those of the run.
[[noreturn]] void refuse_without_tensor(const std::filesystem::path& path, const std::string& name);
using TypeAndShape = std::pair<at::ScalarType, at::IntArrayRef>;
void require_same_tensor(const std::filesystem::path& path, const std::string& name,
                         const TypeAndShape& stored, const TypeAndShape& wanted);
// Throws Error(corrupt) unless it was there.
void require_crc(const std::filesystem::path& path, const SafeTensors& contents);

inline constexpr char kPartsSuffix[] = ".parts";

// Whether the folder `path` is a checkpoint in parts; a file is none.
bool is_in_parts(const std::filesystem::path& path);
// The file with a checkpoint's metadata: its manifest, or `path` itself where it is one file.
std::filesystem::path metadata_file(const std::filesystem::path& path);

// Collective: each process writes `own`, on the CPU, and rank 0 then the manifest with `rest`. All
// numbers of a whole tensor are some process's. `path`: the folder, on a file system that all
// processes see, where there is none of this name. Throws on all processes when one of them cannot
// write: Error(io), and then there is no checkpoint; what was written stays under the temporary
// name until the next one, or until remove_unfinished_checkpoints().
void write_parts(Communicator& communicator, const std::filesystem::path& path,
                 const SafeTensors& rest, const std::vector<SharedTensor>& own);

// Reads what `wanted` have of the whole tensors, one tensor of a part after the other, and of these
// only those that have some of it. Nothing is changed unless names, dtypes and whole shapes fit;
// Error(invalid_argument) names the first tensor that does not. Throws Error(corrupt) for a part
// that is missing or damaged.
void load_shares(const std::filesystem::path& path, const std::vector<SharedTensor>& wanted);

// All tensors of a checkpoint, whole, whose names begin with `prefix`. Throws as load_shares().
std::vector<NamedTensor> load_whole(const std::filesystem::path& path, const std::string& prefix);

// Reads everything once, a tensor at a time. Throws Error(corrupt) for a part that is missing or
// damaged.
void check_parts(const std::filesystem::path& path);

// Removes a checkpoint so that no half of it is ever taken for a whole one; throws Error(io).
void remove_parts(const std::filesystem::path& path);
// Removes what writers and remove_parts() that were killed left in `folder`.
void remove_unfinished_checkpoints(const std::filesystem::path& folder);

}  // namespace ffkit
