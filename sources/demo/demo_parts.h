// Kinds of made-up data beside pictures of classes: `--kind NAME` of ffconvert demo. One is a file
// sources/<folder>/<name>_demo.cpp with the function
//
//   DemoPart <name>_demo();
//
// whose call is written from the name of the file, as that of a kind of source. And DemoPictures:
// what sources of made-up pictures share, of whatever kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/demo.h>

#include "converter/input/listed_source.h"
#include "converter/input/splitmix.h"

namespace ffkit {

// The options of such a kind in one call. `pictures` are those of all kinds, with size 0 where none
// is given. Not thread-safe.
class DemoPartOptions {
 public:
  virtual ~DemoPartOptions() = default;
  // Declares those that this kind has alone.
  virtual void describe(OptionTable& /*table*/) {}
  // Another kind is made: throws Error(invalid_argument) where one of these is given.
  virtual void refuse(const OptionTable& /*table*/, const std::string& /*why*/) const {}
  // This kind is made: throws Error(invalid_argument) where one of `pictures` is given that it has
  // no use for, and for options that cannot be right.
  virtual void check(const OptionTable& table, const std::string& why,
                     const DemoOptions& pictures) const = 0;
  virtual bool keeps_order() const { return false; }
  virtual std::unique_ptr<Source> open(const SourceArguments& arguments,
                                       const DemoOptions& pictures) const = 0;
};

template <typename Options>
std::unique_ptr<DemoPartOptions> make_demo_options() {
  return std::make_unique<Options>();
}

struct DemoPart {
  const char* name;                               // "pose"
  const char* what;                               // is made, for --help
  std::unique_ptr<DemoPartOptions> (*options)();  // make_demo_options<...>
};
// By name.
std::vector<DemoPart> demo_parts();

class DemoPictures : public ListedSource {
 public:
  std::map<std::string, std::string> facts(size_t) const override;
  std::map<std::string, std::string> options() const override;
  std::string describe(size_t split, int64_t index) const override;
  std::optional<std::string> listed_id(size_t split, int64_t index) const override;

 protected:
  // Options: DemoOptions, or those of another kind.
  template <typename Options>
  DemoPictures(const Options& options, uint64_t seed)
      : size_(options.size), seed_(seed), storer_(options.images) {
    infos_.push_back({.name = "train", .num_samples = options.num_train, .is_training = true});
    if (options.num_val > 0) infos_.push_back({.name = "val", .num_samples = options.num_val});
  }

  virtual std::string id(int64_t index) const = 0;
  // Draws for one sample; splits and samples of a seed are independent of each other.
  SplitMix random(size_t split, int64_t index) const;
  // A JPEG of [size, size, 3] u8 RGB, kept in `buffers`.
  std::span<std::byte> encode(const std::vector<uint8_t>& pixels, SampleBuffers& buffers) const;

  const int64_t size_;
  const uint64_t seed_;
  const ImageStorer storer_;
};

// Demo pictures: textured shapes on a plain ground. What tells classes apart is shape, texture,
// number of shapes and rim; colours, places, sizes, turns, specks and noise are drawn at random and
// tell nothing.

// 12 shapes x 8 textures x 1 .. 4 copies x 3 rims.
inline constexpr int64_t kMaxDemoClasses = 12 * 8 * 4 * 3;

// "disc, striped across", "3 x star, dotted, with a rim", ...
std::string demo_class_name(int64_t label);

// A picture of class `label`, [size, size, 3] u8 RGB. A pure function of its arguments and the
// state of `random`.
std::vector<uint8_t> paint_demo_picture(int64_t label, int64_t size, SplitMix& random);

}  // namespace ffkit
