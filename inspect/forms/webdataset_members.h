// What a record's fields are called and hold as members of a WebDataset sample.
//
//   image              jpg, png, ... by what it is: `image` as "jpg", `left/image` as "left.jpg"
//   integer `label`    cls
//   string             txt
//   tensor             npy                          bf16 as float32
//   other scalar       npy, without a dimension     bf16 as float32
//   bytes              its own name as the extension
//   list of images     000000.jpg, 000001.jpg, ...
//   list of strings    json, an array
//   other lists        000000.npy or 000000.bin, ...
//
// A field is the extension, with "." for "/", and what is above behind it unless the name ends so:
// `caption` is "caption.txt", `caption/txt` too. So `ffconvert webdataset` gives a field that came
// from there the same name and type again; how it takes the others is in comes_back().
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>

namespace ffkit {

// The extension of the members that hold ids which cannot be keys.
inline constexpr std::string_view kIdMember = "id.txt";

struct WebDatasetMember {
  std::string extension;            // "jpg", "left.jpg"
  std::span<const std::byte> data;  // of the record, or empty
  std::vector<std::byte> owned;     // what is in the place of `data` where it is not empty
  bool is_unknown_picture = false;  // neither JPEG nor another kind that has an extension

  std::span<const std::byte> content() const { return owned.empty() ? data : owned; }
};

// Thread-safe once it is made.
class WebDatasetMembers {
 public:
  // All fields of `schema` but the string `id`, which is the key.
  explicit WebDatasetMembers(const Schema& schema);

  // The members of a record: null fields and empty lists have none, except for lists of strings.
  // They point into `record`. Throws Error(corrupt) as image_file().
  std::vector<WebDatasetMember> of(const RecordView& record) const;

  // The position of the string `id`, if there is one.
  std::optional<size_t> id_field() const { return id_field_; }
  // For each field that `ffconvert webdataset` takes in another way, what it is then: "'n' is then
  // the tensor 'n/npy' without a dimension".
  const std::vector<std::string>& comes_back() const { return comes_back_; }
  // Whether there are lists of images, which it takes as such with --numbered-frames.
  bool has_frames() const;

 private:
  enum class Form { image, label, text, array, bytes, frames, texts, items };
  struct Plan {
    size_t field = 0;
    Form form = Form::bytes;
    std::string stem;  // the extension, or what is before the part that varies
  };
  static Form form_of(const Field& field);
  void add(const Field& field, size_t position, std::vector<std::string>& taken);
  void add_list(const Plan& plan, const RecordView& record,
                std::vector<WebDatasetMember>& members) const;

  const Schema& schema_;
  std::optional<size_t> id_field_;
  std::vector<Plan> plans_;
  std::vector<std::string> comes_back_;
};

}  // namespace ffkit
