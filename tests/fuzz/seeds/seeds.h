// The seeds of all fuzz targets, by the real writers where there are some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace ffkit::fuzzing {

// Makes `folder`/<target>/* for every target.
void make_seeds(const std::filesystem::path& folder);

// Parts of it: FFRecord v1 files, and the pickles in and beside them. They make `folder`.
void make_v1_seeds(const std::filesystem::path& folder);
void make_pickle_seeds(const std::filesystem::path& folder);
// Tars, meta.mat and the lists that come with ImageNet: one folder a target.
void make_imagenet_seeds(const std::filesystem::path& folder);
// What webdataset, coco and jsonl read: one folder a target.
void make_source_seeds(const std::filesystem::path& folder);
// Files of other libraries, whose rows are converted: one folder a target.
void make_row_seeds(const std::filesystem::path& folder);

// Files of MXNet, FFCV and LMDB.
void make_row_file_seeds(const std::filesystem::path& folder);

// Files of torch.save().
void make_torch_seeds(const std::filesystem::path& folder);

}  // namespace ffkit::fuzzing

// libFuzzer's changes, or those of tests/corrupt/replay.cpp.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
