// What RootNet wants from records of persons, and what it makes of a batch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <string>

#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/device_batch.h>

namespace ffkit {

// Why records of `schema` are none to train RootNet on; empty: they are.
std::string rootnet_misfit(const Schema& schema);

// The split `name` of each data set. Throws as open_mixed_split(), and Error(invalid_argument) for
// sets whose lengths have different units.
Dataset open_training_persons(const TrainOptions& options, const std::string& name);
// The same of the data sets that have it, as open_mixed_validation(); `test` stands for `val` where
// there is none.
Dataset open_validation_persons(const TrainOptions& options, const std::string& name);

LoaderOptions person_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                    c10::Device device, const Schema& schema, bool is_training);

// The crops of a batch as the network takes them, [N,3,S,S] f32 in channels_last: bytes times the
// factors of the colours, cut off at 0 and 255, minus mean, over deviation. These are
// torchvision's, of 0 .. 1, applied to 0 .. 255, as published.
at::Tensor network_input(const DeviceBatch& batch);
// Columns of a batch's "target": crop_target().
struct BatchTarget {
  at::Tensor coordinates;             // [N,3]
  at::Tensor visible, have_depth, k;  // [N]
};
BatchTarget target_of(const DeviceBatch& batch);
// The same of crops and targets: [N,S,S,3] u8, [N,9] f32.
at::Tensor normalised_crops(const at::Tensor& crops, const at::Tensor& targets);

}  // namespace ffkit
