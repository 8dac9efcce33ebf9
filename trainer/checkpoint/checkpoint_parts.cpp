#include "checkpoint/checkpoint_parts.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/file/file.h"
#include "base/json_text.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

int64_t product_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Empty sizes where they have nothing in common; of 0-dimensional tensors both are all there is.
bool intersect(const TensorBox& a, const TensorBox& b, TensorBox& common) {
  common.begin.resize(a.begin.size());
  common.size.resize(a.begin.size());
  for (size_t d = 0; d < a.begin.size(); ++d) {
    common.begin[d] = std::max(a.begin[d], b.begin[d]);
    common.size[d] = std::min(a.begin[d] + a.size[d], b.begin[d] + b.size[d]) - common.begin[d];
    if (common.size[d] <= 0) return false;
  }
  return true;
}

// The part `common` of `box`, which begins at `offset` of the share's dimension.
at::Tensor view_of(const at::Tensor& tensor, const TensorShare& share, const TensorBox& box,
                   int64_t offset, const TensorBox& common) {
  at::Tensor view = tensor;
  for (size_t d = 0; d < box.begin.size(); ++d) {
    const int64_t within = common.begin[d] - box.begin[d];
    view =
        view.narrow(d, within + (std::cmp_equal(d, share.dimension) ? offset : 0), common.size[d]);
  }
  return view;
}

// Calls `found(box of a, its offset, box of b, its offset, what they have in common)` of each pair
// that has something in common.
template <typename Found>
void for_each_overlap(const TensorShare& a, const TensorShare& b, Found found) {
  TensorBox common;
  int64_t a_offset = 0;
  for (const TensorBox& a_box : a.boxes) {
    int64_t b_offset = 0;
    for (const TensorBox& b_box : b.boxes) {
      if (intersect(a_box, b_box, common)) found(a_box, a_offset, b_box, b_offset, common);
      if (!b_box.size.empty()) b_offset += b_box.size[b.dimension];
    }
    if (!a_box.size.empty()) a_offset += a_box.size[a.dimension];
  }
}

}  // namespace

TensorShare TensorShare::of_all(std::vector<int64_t> shape) {
  TensorBox box{.begin = std::vector<int64_t>(shape.size(), 0), .size = shape};
  return {.whole_shape = std::move(shape), .boxes = {std::move(box)}};
}

std::vector<int64_t> TensorShare::shape() const {
  std::vector<int64_t> out = boxes.front().size;
  for (size_t i = 1; i < boxes.size(); ++i) out[dimension] += boxes[i].size[dimension];
  return out;
}

int64_t TensorShare::num_elements() const {
  return product_of(shape());
}

bool overlap(const TensorShare& a, const TensorShare& b) {
  bool is_any = false;
  for_each_overlap(a, b, [&](auto&&...) { is_any = true; });
  return is_any;
}

int64_t copy_share(const at::Tensor& from, const TensorShare& from_share, const at::Tensor& to,
                   const TensorShare& to_share) {
  const at::NoGradGuard no_grad;
  int64_t count = 0;
  for_each_overlap(from_share, to_share,
                   [&](const TensorBox& from_box, int64_t from_offset, const TensorBox& to_box,
                       int64_t to_offset, const TensorBox& common) {
                     view_of(to, to_share, to_box, to_offset, common)
                         .copy_(view_of(from, from_share, from_box, from_offset, common));
                     count += product_of(common.size);
                   });
  return count;
}

namespace {

using PartsJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.safetensors";
constexpr char kUnfinished[] = ".tmp";
// In the metadata of a part and of the manifest.
constexpr char kPartsKey[] = "parts";

fs::path part_file(const fs::path& folder, int rank) {
  return folder / fmt::format("part-{:05}.safetensors", rank);
}

std::string crc_of(const at::Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  return fmt::format("{:08x}", crc32c(std::span(data, tensor.nbytes())));
}

// A tensor that a part file has.
struct StoredPart {
  std::string name;
  std::string file = {};
  TensorShare share = {};
  std::string crc = {};
};

PartsJson to_json(const StoredPart& part) {
  PartsJson boxes = PartsJson::array();
  for (const TensorBox& box : part.share.boxes) boxes.push_back({box.begin, box.size});
  return {{"name", part.name},
          {"file", part.file},
          {"shape", part.share.whole_shape},
          {"dimension", part.share.dimension},
          {"boxes", boxes},
          {"crc32c", part.crc}};
}

// Throws nlohmann's exceptions.
StoredPart part_from_json(const PartsJson& json) {
  StoredPart part{.name = json.at("name").get<std::string>(),
                  .file = json.at("file").get<std::string>(),
                  .crc = json.at("crc32c").get<std::string>()};
  part.share.whole_shape = json.at("shape").get<std::vector<int64_t>>();
  part.share.dimension = json.at("dimension").get<int64_t>();
  for (const PartsJson& box : json.at("boxes"))
    part.share.boxes.push_back({.begin = box.at(0).get<std::vector<int64_t>>(),
                                .size = box.at(1).get<std::vector<int64_t>>()});
  return part;
}

std::vector<StoredPart> parts_from_text(const fs::path& file,
                                        const std::map<std::string, std::string>& metadata) {
  std::vector<StoredPart> parts;
  try {
    for (const PartsJson& json : PartsJson::parse(metadata.at(kPartsKey)))
      parts.push_back(part_from_json(json));
  } catch (const std::exception&) {  // nlohmann's, and std::out_of_range: there are none
    throw checkpoint_error(file, ErrorCode::corrupt,
                           "has no valid list of the parts of the checkpoint");
  }
  return parts;
}

// The text that a part or the manifest has under kPartsKey.
std::string to_text(const std::vector<StoredPart>& parts) {
  PartsJson json = PartsJson::array();
  for (const StoredPart& part : parts) json.push_back(to_json(part));
  return json_text(json);
}

void write_part(const fs::path& file, const std::vector<SharedTensor>& own) {
  SafeTensors contents;
  std::vector<StoredPart> parts;
  for (const SharedTensor& t : own) {
    contents.tensors.push_back({t.name, t.tensor.detach().contiguous()});
    parts.push_back({.name = t.name,
                     .file = file.filename().string(),
                     .share = t.share,
                     .crc = crc_of(contents.tensors.back().tensor)});
  }
  contents.metadata[kPartsKey] = to_text(parts);
  write_safetensors(file, contents);
}

[[noreturn]] void refuse_unshared(const fs::path& path, int writer, int reader) {
  throw checkpoint_error(path, ErrorCode::io,
                         "rank {} made this folder, but rank {} cannot see the folder; give all "
                         "processes the same {} on a file system that all their machines share",
                         writer, reader, option_name("work_dir"));
}

// What the parts hold, as they say, of the ranks that wrote one.
std::vector<StoredPart> list_parts(const fs::path& folder, const std::vector<double>& has_part) {
  std::vector<StoredPart> all;
  for (size_t rank = 0; rank < has_part.size(); ++rank) {
    if (has_part[rank] == 0) continue;
    const fs::path file = part_file(folder, rank);
    if (!fs::exists(file)) refuse_unshared(file, rank, 0);
    for (StoredPart& part : parts_from_text(file, read_safetensors_metadata(file)))
      all.push_back(std::move(part));
  }
  return all;
}

fs::path unfinished(const fs::path& path) {
  return path.string() + kUnfinished;
}

// A checkpoint as it is read: the manifest, and the files of parts that were needed so far.
class PartsReader {
 public:
  explicit PartsReader(const fs::path& path)
      : path_(path), manifest_(read_safetensors(metadata_file(path))) {
    require_crc(path / kManifest, manifest_);
    parts_ = parts_from_text(path / kManifest, manifest_.metadata);
    for (const NamedTensor& t : manifest_.tensors) {
      parts_.push_back(
          {.name = t.name, .share = TensorShare::of_all(t.tensor.sizes().vec())});  // no file
    }
  }

  const fs::path& path() const { return path_; }
  const std::vector<StoredPart>& parts() const { return parts_; }

  // Its type and shape.
  at::Tensor description(const StoredPart& part) {
    if (part.file.empty()) return in_manifest(part);
    const at::Tensor found = file(part).description(part.name);
    if (!found.defined() || found.sizes().vec() != part.share.shape())
      refuse(part, fmt::format("the file has no tensor '{}' with the shape that the manifest says",
                               part.name));
    return found;
  }
  at::Tensor read(const StoredPart& part) {
    if (part.file.empty()) return in_manifest(part);
    at::Tensor tensor = file(part).read(part.name);
    const std::string crc = crc_of(tensor);
    if (crc != part.crc)
      refuse(part, fmt::format("the CRC-32C of tensor '{}' is {}, but the manifest says {}",
                               part.name, crc, part.crc));
    return tensor;
  }
  // Before the next file, where each is read once.
  void close_files() { files_.clear(); }

 private:
  const at::Tensor& in_manifest(const StoredPart& part) const {
    for (const NamedTensor& t : manifest_.tensors) {
      if (t.name == part.name) return t.tensor;
    }
    throw checkpoint_error(path_, ErrorCode::corrupt, "has no tensor '{}'", part.name);
  }
  [[noreturn]] void refuse(const StoredPart& part, const std::string& message) const {
    throw checkpoint_error((path_ / part.file), ErrorCode::corrupt,
                           message + ", so the checkpoint is damaged; use the previous checkpoint");
  }
  SafeTensorsReader& file(const StoredPart& part) {
    const auto it = files_.find(part.file);
    if (it != files_.end()) return it->second;
    if (part.file.find('/') != std::string::npos || !fs::exists(path_ / part.file))
      refuse(part, "this part of the checkpoint is missing");
    return files_.emplace(part.file, SafeTensorsReader(path_ / part.file)).first->second;
  }

  const fs::path path_;
  SafeTensors manifest_;
  std::vector<StoredPart> parts_;
  std::map<std::string, SafeTensorsReader> files_;
};

void load_from(PartsReader& reader, const std::vector<SharedTensor>& wanted) {
  std::map<std::string, const SharedTensor*> by_name;
  for (const SharedTensor& t : wanted) by_name.emplace(t.name, &t);
  std::map<std::string, int64_t> num_found;  // numbers of each wanted tensor
  // By file: each is opened once.
  std::map<std::string, std::vector<std::pair<const StoredPart*, const SharedTensor*>>> copies;
  for (const StoredPart& part : reader.parts()) {
    const auto it = by_name.find(part.name);
    if (it == by_name.end()) continue;
    const SharedTensor& to = *it->second;
    num_found.try_emplace(part.name, 0);
    const bool is_other_shape = part.share.whole_shape != to.share.whole_shape;
    if (!is_other_shape && !overlap(part.share, to.share)) continue;
    require_same_tensor(reader.path(), part.name,
                        {reader.description(part).scalar_type(), part.share.whole_shape},
                        {to.tensor.scalar_type(), to.share.whole_shape});
    copies[part.file].emplace_back(&part, &to);
  }
  for (const SharedTensor& t : wanted) {
    if (!num_found.contains(t.name)) refuse_without_tensor(reader.path(), t.name);
  }
  for (const auto& [file, pairs] : copies) {
    for (const auto& [part, to] : pairs)
      num_found[part->name] += copy_share(reader.read(*part), part->share, to->tensor, to->share);
  }
  for (const SharedTensor& t : wanted) {
    if (num_found[t.name] == t.share.num_elements()) continue;
    throw checkpoint_error(reader.path(), ErrorCode::corrupt,
                           "the manifest lists {} of {} numbers of tensor '{}', so the checkpoint "
                           "is damaged; use the previous checkpoint",
                           num_found[t.name], t.share.num_elements(), t.name);
  }
}

}  // namespace

std::string type_and_shape(at::ScalarType type, at::IntArrayRef shape) {
  return fmt::format("{} [{}]", c10::toString(type), fmt::join(shape, ", "));
}

void refuse_without_tensor(const fs::path& path, const std::string& name) {
  throw checkpoint_error(
      path, ErrorCode::invalid_argument,
      "the checkpoint has no tensor '{}', but the run needs this tensor; the checkpoint may belong "
      "to another model, or to a run with another {} or {}",
      name, option_name("optimizer"), option_name("amp"));
}

void require_same_tensor(const fs::path& path, const std::string& name, const TypeAndShape& stored,
                         const TypeAndShape& wanted) {
  if (stored == wanted) return;
  throw checkpoint_error(
      path, ErrorCode::invalid_argument,
      "tensor '{}' is {}, but the model needs {}; the checkpoint may belong to another model, "
      "or to a model with other options",
      name, type_and_shape(stored.first, stored.second),
      type_and_shape(wanted.first, wanted.second));
}

void require_crc(const fs::path& path, const SafeTensors& contents) {
  if (contents.is_checked) return;
  throw checkpoint_error(
      path, ErrorCode::corrupt,
      "the checkpoint has no CRC-32C; it is damaged, or another program has written it again");
}

bool is_in_parts(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / kManifest, error) ||
         (fs::is_directory(path, error) && path.extension() == kPartsSuffix);
}

fs::path metadata_file(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  if (fs::exists(path / kManifest)) return path / kManifest;
  throw checkpoint_error(path, ErrorCode::corrupt,
                         "the checkpoint has no manifest, so it is damaged");
}

void write_parts(Communicator& communicator, const fs::path& path, const SafeTensors& rest,
                 const std::vector<SharedTensor>& own) {
  const fs::path folder = unfinished(path);
  on_rank_0(communicator, [&] {
    std::error_code error;
    fs::remove_all(folder, error);
    if (!error) fs::create_directory(folder, error);
    if (error) {
      throw io_error_at(folder, "cannot make the folder of a checkpoint", error.value())
          .with_subject(ErrorSubject::destination);
    }
  });
  on_all_ranks(communicator, [&] {
    if (own.empty()) return;
    if (!fs::is_directory(folder)) refuse_unshared(folder, 0, communicator.rank());
    write_part(part_file(folder, communicator.rank()), own);
  });
  std::vector<double> has_part(communicator.world_size(), 0);
  has_part[communicator.rank()] = own.empty() ? 0 : 1;
  has_part = communicator.sum(has_part);
  on_rank_0(communicator, [&] {
    SafeTensors manifest = rest;
    manifest.metadata[kPartsKey] = to_text(list_parts(folder, has_part));
    write_safetensors(folder / kManifest, manifest);
    rename_durably(folder, path);
  });
}

void load_shares(const fs::path& path, const std::vector<SharedTensor>& wanted) {
  PartsReader reader(path);
  load_from(reader, wanted);
}

std::vector<NamedTensor> load_whole(const fs::path& path, const std::string& prefix) {
  PartsReader reader(path);
  std::map<std::string, size_t> index;
  std::vector<NamedTensor> out;
  std::vector<SharedTensor> shares;
  for (const StoredPart& part : reader.parts()) {
    if (!part.name.starts_with(prefix) || !index.emplace(part.name, out.size()).second) continue;
    const auto type = at::TensorOptions(reader.description(part).scalar_type());
    out.push_back({part.name, at::empty(part.share.whole_shape, type)});
    shares.push_back({part.name, out.back().tensor, TensorShare::of_all(part.share.whole_shape)});
  }
  load_from(reader, shares);
  return out;
}

void check_parts(const fs::path& path) {
  PartsReader reader(path);
  std::map<std::string, std::vector<const StoredPart*>> by_file;
  for (const StoredPart& part : reader.parts()) by_file[part.file].push_back(&part);
  for (const auto& [file, parts] : by_file) {
    for (const StoredPart* part : parts) {
      reader.description(*part);
      reader.read(*part);
    }
    reader.close_files();
  }
}

void remove_parts(const fs::path& path) {
  const fs::path folder = unfinished(path);
  std::error_code error;
  fs::rename(path, folder, error);
  if (!error) fs::remove_all(folder, error);
  if (!error) return;
  throw io_error_at(path, "cannot be removed", error.value())
      .with_subject(ErrorSubject::destination);
}

void remove_unfinished_checkpoints(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    const fs::path kind = name.stem().extension();
    if (name.extension() == kUnfinished && (kind == kPartsSuffix || kind == ".safetensors"))
      found.push_back(it->path());
  }
  for (const fs::path& path : found) fs::remove_all(path, error);
}

}  // namespace ffkit
