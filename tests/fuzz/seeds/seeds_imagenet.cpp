// Seeds of what comes with ImageNet, made by the tests' builders.
#include <zlib.h>

#include <string>

#include "meta_mat_builder.h"
#include "seeds/seeds.h"
#include "tar_builder.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using testing::TarBuilder;
using testing::write_file;

// `mat` with everything behind its header as one compressed element, as MATLAB saves by default.
std::string compressed_mat(const std::string& mat) {
  constexpr size_t kHeaderBytes = 128;
  constexpr uint32_t kCompressed = 15;
  std::string data(compressBound(mat.size()), '\0');
  uLongf length = data.size();
  compress(reinterpret_cast<Bytef*>(data.data()), &length,
           reinterpret_cast<const Bytef*>(mat.data() + kHeaderBytes), mat.size() - kHeaderBytes);
  return mat.substr(0, kHeaderBytes) + testing::MatWriter::word(kCompressed) +
         testing::MatWriter::word(static_cast<uint32_t>(length)) + data.substr(0, length);
}

void make_tars(const fs::path& folder) {
  const std::string inner =
      TarBuilder().add("n01440764_1.JPEG", "one").add("n01440764_2.JPEG", "two").finish();
  write_file(folder / "plain", inner);
  write_file(folder / "nested", TarBuilder().add("n01440764.tar", inner).finish());
  write_file(folder / "long_names",
             TarBuilder()
                 .add("folder/", "", '5')
                 .add_gnu_long(std::string(150, 'n') + ".JPEG", "gnu")
                 .add_pax("path", std::string(120, 'p') + ".JPEG", "short", "pax")
                 .finish());
  write_file(folder / "hostile", TarBuilder()
                                     .add("a.JPEG", "x")
                                     .add("../b.JPEG", "", '2', "/etc/passwd")
                                     .add_pax("size", "99999999999", "c.JPEG", "x")
                                     .finish());
  write_file(folder / "sparse",
             TarBuilder().add_pax("GNU.sparse.major", "1", "holes.JPEG", "1\n0\n5\n").finish());
}

}  // namespace

void make_imagenet_seeds(const fs::path& folder) {
  make_tars(folder / "fuzz_tar");
  const std::string mat = testing::meta_mat(testing::three_classes());
  write_file(folder / "fuzz_meta_mat" / "plain", mat);
  write_file(folder / "fuzz_meta_mat" / "compressed", compressed_mat(mat));
  const fs::path lists = folder / "fuzz_imagenet_lists";
  write_file(lists / "mapping", "mn01443537 goldfish\nn01440764 tench, Tinca tinca\n");
  write_file(lists / "val_solution",
             "vImageId,PredictionString\nILSVRC2012_val_00000001,n01440764 1 2 3 4 \n"
             "ILSVRC2012_val_00000002,n01484850 1 2 3 4 n01484850 5 6 7 8 \r\n");
  write_file(lists / "ground_truth", "g1\n30\n2\n2\n");
}

}  // namespace ffkit::fuzzing
