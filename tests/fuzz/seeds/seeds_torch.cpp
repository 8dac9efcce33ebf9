// Seeds of files of torch.save(): one of each form.
#include <string>

#include "seeds/seeds.h"
#include "support/pth_builder.h"
#include "whole_files.h"

namespace ffkit::fuzzing {
namespace {

using testing::pickle_dict;
using testing::PickledTensor;
using testing::whole_pickle;

std::string state_dict() {
  return pickle_dict({{"w", PickledTensor{}.bytes()}, {"n", "K\x01"}});
}

std::string numbers() {
  return testing::pickle_integer(4).substr(2) + testing::pth_entries("")[2].second;
}

// Before torch 1.6.
std::string pickles() {
  const std::string magic = whole_pickle("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19");
  const std::string model = pickle_dict({{"model", state_dict()}});
  return magic + whole_pickle("M\xE9\x03") + whole_pickle("}") + whole_pickle(model) +
         whole_pickle("]" + testing::pickle_text("0") + "a") + numbers();
}

// Before torch 0.2.
testing::ZipEntries tar_entries() {
  const auto item = [](int64_t key, const std::string& second, const std::string& type) {
    return whole_pickle(testing::pickle_integer(key) + second + "ctorch\n" + type + "\n\x87");
  };
  const auto number = [](int64_t value) { return testing::pickle_integer(value).substr(2); };
  return {
      {"pickle", whole_pickle("}" + testing::pickle_text("w") + testing::pickle_text("7") + "Qs")},
      {"tensors", whole_pickle("K\x01") + item(7, testing::pickle_integer(6), "FloatTensor") +
                      number(1) + number(2) + number(1) + number(0)},
      {"storages", whole_pickle("K\x01") + item(5, testing::pickle_text("cpu"), "FloatStorage") +
                       numbers() + whole_pickle("](K\x06K\x05K\x01K\x03ta")}};
}

// A whole module, as BUILD gives it its attributes.
std::string module() {
  const std::string state = pickle_dict(
      {{"_parameters", pickle_dict({{"w", PickledTensor{}.bytes()}})},
       {"_buffers", "}"},
       {"_non_persistent_buffers_set", "cbuiltins\nset\n(](" + testing::pickle_text("b") + "etR"},
       {"_modules", "}"}});
  return "cm\nModule\n)\x81" + state + "b";
}

}  // namespace

void make_torch_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  testing::write_zip(folder / "plain", testing::pth_entries(state_dict()));
  testing::write_zip(
      folder / "nested",
      testing::pth_entries(pickle_dict(
          {{"model", pickle_dict({{"ema", state_dict()}})}, {"optimizer", state_dict()}})));
  testing::write_zip(folder / "deflated", testing::pth_entries(state_dict()), true);
  testing::write_zip(folder / "module", testing::pth_entries(module()));
  testing::write_tar(folder / "tar", tar_entries());
  testing::write_file(folder / "pickles", pickles());
}

}  // namespace ffkit::fuzzing
