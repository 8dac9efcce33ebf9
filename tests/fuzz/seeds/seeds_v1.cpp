// Seeds of FFRecord v1 and of pickles, some of them as Python writes them.
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/bytes/pickle.h"
#include "seeds/seeds.h"
#include "v1_file_builder.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string to_string(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string sample(const std::string& image, int64_t label) {
  std::vector<std::byte> pickle;
  pickle_bytes_and_label(std::as_bytes(std::span(image)), label, pickle);
  return to_string(pickle);
}

// pickle.dumps(OrderedDict(a=OrderedDict({"x.bin": 0, "y": 1}), z=2), 4): the tree of a packed
// folder with three files.
std::string tree() {
  return "\x80\x04\x95\x45\0\0\0\0\0\0\0"s + "\x8c\x0b"s + "collections\x94\x8c\x0b"s +
         "OrderedDict\x94\x93\x94)R\x94(" + "\x8c\x01"s + "a\x94h\x02)R\x94(" + "\x8c\x05"s +
         "x.bin\x94K\0"s + "\x8c\x01"s + "y\x94K\x01u" + "\x8c\x01"s + "z\x94K\x02u.";
}

// {"a": {"b": 0}, "c": 1} in the fewest opcodes: without a frame, more changes of it are pickles.
std::string small_tree() {
  return "}\x8c\x01"s + "a}\x8c\x01"s + "bK\0ss"s + "\x8c\x01"s + "cK\x01s.";
}

}  // namespace

void make_v1_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  write(folder / "raw", testing::v1_bytes({"one", "", "the third record"}));
  write(folder / "old", testing::v1_bytes({"one", "", "three"}, false));
  write(folder / "imagenet", testing::v1_bytes({sample("\xff\xd8jpeg\xff\xd9", 0), sample("", 999),
                                                sample(std::string(300, 'x'), -1)}));
  write(folder / "packed_folder", testing::v1_bytes({"x", "", "zzz", "piouhjgbr" + tree()}));
  write(folder / "small_packed_folder", testing::v1_bytes({"x", "y", "piouhjgbr" + small_tree()}));
  write(folder / "empty", testing::v1_bytes({}));
}

void make_pickle_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  write(folder / "class_list",
        to_string(pickle_class_list({"cat", "dog", std::string(300, 'x')},
                                    std::vector<int64_t>{0, 1, 2, 256, 70000, -5, 1LL << 40})));
  write(folder / "sample", sample("\xff\xd8jpeg\xff\xd9", 7));
  write(folder / "large_sample", sample(std::string(300, 'x'), 1LL << 33));
  write(folder / "tree", tree());
  // pickle.dumps({"a": [1, None, True, (2, 3)]}, 2)
  write(folder / "protocol_2",
        "\x80\x02}q\x00X\x01\x00\x00\x00"s + "aq\x01]q\x02(K\x01N\x88K\x02K\x03\x86q\x03"s + "es.");
  // Opcodes that Python rarely writes: marks popped, DUP, LIST, TUPLE, DICT, LONG_BINPUT,
  // LONG_BINGET, BYTEARRAY8, GLOBAL.
  write(folder / "rare",
        "(K\x01K\x02l(N1(K\x03\x89t("s + "\x8c\x01"s + "kK\x04"s + "d2r\0\1\0\0j\0\1\0\0"s +
            "\x96\x02\0\0\0\0\0\0\0xyccollections\nOrderedDict\n)R\x87"s + "0\x87\x86.");
}

}  // namespace ffkit::fuzzing
