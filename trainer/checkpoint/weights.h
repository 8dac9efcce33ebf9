// Weights: the tensors of a model in a file that fftrain or Python wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

#include "files/state_dict.h"

namespace ffkit {

struct Weights {
  std::filesystem::path path;
  std::vector<NamedTensor> tensors;       // under the names of the model
  std::vector<UnreadTensor> unread = {};  // whose numbers are of no use here
  std::vector<std::string> notes = {};    // sentences on what was chosen and left out
  // What is written beside the tensors, names and JSON (TaskEntry::describe_weights).
  std::map<std::string, std::string> description = {};
};

// `notes` with the file before each.
std::vector<std::string> notes_of(const std::filesystem::path& file,
                                  const std::vector<std::string>& notes);

// A sentence on the tensors that are not read; empty where there is none.
std::string unread_note(const Weights& weights);

// Whether `path` holds weights alone, not the checkpoint of a run: every form that read_weights()
// reads but a file with fftrain's metadata. False for a folder. Throws as read_weights().
bool holds_weights_alone(const std::filesystem::path& path);

// Reads a file of torch.save(), a safetensors file, the files that an index names
// (foreign_weights.h), or the weights of a checkpoint, also of one in parts, whichever it is. What
// DistributedDataParallel, torch.compile, FSDP and checkpoint_wrapper put before or into names is
// taken off. `key` chooses one of several sets of tensors: a dict in a file of torch.save()
// (find_state_dict), or those whose names begin with it, which is taken off. Throws as read_pth(),
// read_safetensors() and refuse_foreign_weights(), and Error(invalid_argument) where `key` chooses
// nothing.
Weights read_weights(const std::filesystem::path& path, const std::string& key = {});

// What exported weights say beside their tensors, names and JSON: the classes, how pictures are
// prepared. A safetensors file has it in its metadata, another one beside it in FILE.json.
//
// "resnet50.pth.json"; empty for a safetensors file, which has it within.
std::filesystem::path description_beside(const std::filesystem::path& weights);
// Empty where there is none; of a safetensors file of another program what it has there. Throws
// Error(io), Error(corrupt).
std::map<std::string, std::string> read_description(const std::filesystem::path& weights);

// Throws Error(invalid_argument) for another ending than write_weights() has and when `path`
// exists, and Error(io) when no file can be made there: before the weights are read.
void require_weights_name(const std::filesystem::path& path);

// Writes the tensors to `path`, by its ending a safetensors or a .pth file; snapshot_N.pth.tar as
// RootNet's code does (write_snapshot). A safetensors file has the description, too. Throws as
// require_weights_name(), Error(io).
void write_weights(const Weights& weights, const std::filesystem::path& path);

// The rows of the head that `rules` name, whatever is before its name. Throws
// Error(invalid_argument) when there is none.
int64_t head_rows(const Weights& weights, const WeightRules& rules);

enum class HeadPolicy {
  must_fit,
  // where there is no head, or one with another number of rows, it stays as it was drawn
  may_differ,
};

// Rules of a backbone that came with a classifier: its "fc" is left out.
WeightRules backbone_rules(const std::string& name);
// Copies `weights` into `model` by `rules`; other floating point formats are converted. Every
// tensor must be there and have its shape, and there must be no other, but that counts of batches
// may be missing, as in files from before torch 0.4.1. Where the names of the model all have the
// same words before them ("model." of a training that wrapped it), those are taken and others left
// out. Otherwise throws Error(invalid_argument) naming the first tensor that does not fit, and
// nothing is changed. False: the head was left alone. `notes` gets a sentence on everything that
// was chosen, left out or left alone.
bool load_weights(const Weights& weights, const WeightRules& rules, Model& model, HeadPolicy policy,
                  std::vector<std::string>* notes = nullptr);

// Copies the weights in `file` into `backbone`, the backbone of `network`: of torchvision's ResNet,
// or of a detector, whose names have the backbone's before them. Returns sentences on what was
// chosen and left out. Throws as read_weights() and load_weights().
inline std::vector<std::string> load_backbone(const std::filesystem::path& file,
                                              const std::string& key, const std::string& network,
                                              Model& backbone) {
  Weights weights = read_weights(file, key);
  load_weights(weights, backbone_rules(network), backbone, HeadPolicy::must_fit, &weights.notes);
  return notes_of(file, weights.notes);
}

}  // namespace ffkit
