// The data of a classifier.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/trainer/batch_source.h>

namespace ffkit {

// Records that are validated instead of trained on, where a data set has no split for it.

// The column "id" of texts; nothing where there is none.
std::optional<std::vector<std::string>> record_ids(const Dataset& dataset);

// Whether the record of this id is held out. It depends on the id and the share alone: records that
// are added later change nothing for those that were there, and a larger share holds out all that a
// smaller one does. 0 < share < 1.
bool is_held_out(std::string_view id, double share);

// The classes of a split: the manifest's, or "0" .. "max(label)" when it names none. Throws
// Error(invalid_argument) for a split without labels, and, before anything is allocated, for a
// label of which the head would not fit into the memory that the process may use.
// `bytes_per_class`: what the head takes, asked for where there are very many.
std::vector<std::string> class_list(const Dataset& dataset,
                                    const std::function<int64_t()>& bytes_per_class);

// Why records of `schema` are none to train a classifier on; empty: they are.
std::string classification_misfit(const Schema& schema);

// The training split without what is held out of it for validation.
Dataset open_train(const TrainOptions& options);
// What is validated: the records that are held out of the training split, or the validation split
// of the data sets that have one. Throws Error(not_found) when there is none; the second one
// Error(invalid_argument) when its classes are not `classes`.
Dataset open_val(const TrainOptions& options);
// Where two lists of names differ first: "class 2 is 'cat' in the first and 'dog' in the second".
std::string class_difference(const std::vector<std::string>& first,
                             const std::vector<std::string>& second);

Dataset open_val(const TrainOptions& options, const std::vector<std::string>& classes);

// What is to be predicted: what options.data is itself, a split or a file; the validation split of
// a data set; its only split. Nothing where it is no data set. Throws Error(invalid_argument) where
// it has several others, or no pictures.
std::optional<Dataset> open_to_predict(const TrainOptions& options);

// `dataset` itself. Throws Error(invalid_argument) naming the first record whose label is not in 0
// .. num_classes-1.
Dataset with_valid_labels(Dataset dataset, int64_t num_classes);

// Side of the training pictures in `epoch`, counted from 0. With progressive resizing, as FFCV's
// ImageNet training does it: progressive_size up to and with epoch progressive_from, image_size
// from progressive_to on, and between them the multiple of 32 nearest to the straight line.
int64_t train_image_size(const TrainOptions& options, int64_t epoch);

// Loaders for the two halves of training: every epoch in another order, random crops, flips and the
// augmentations of the options, full batches only; and every record once in order, resized and
// cropped as models are evaluated. `place`: whose share of the records; `device`: what they are
// for.
LoaderOptions train_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                   c10::Device device = c10::kCPU, int64_t epoch = 0);
LoaderOptions val_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                 c10::Device device = c10::kCPU);

// For a LoaderSource: its loader writes pictures as bytes, a quarter of the memory that is copied
// to a device, and they are normalised there. Nothing where the loader changes normalised pictures:
// with MixUp, CutMix or erasing.
void write_bytes(LoaderOptions& options);

}  // namespace ffkit
