#include "files/safetensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

// A file with the given header, without a CRC.
std::string make_file(const std::string& header, const std::string& numbers) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + numbers;
}

SafeTensors safetensors_sample() {
  return {.tensors = {{"a.weight", at::arange(6, at::kFloat).view({2, 3})},
                      {"steps", at::scalar_tensor(-7, at::kLong)},
                      {"rng", at::arange(5, at::kByte)},
                      {"none", at::empty({0, 4}, at::kDouble)}},
          .metadata = {{"format", "pt"}, {"text", "two \"words\"\n"}}};
}

TEST(SafeTensors, ReadsWhatItWrote) {
  const testing::TempDir temp;
  write_safetensors(temp / "f", safetensors_sample());
  EXPECT_FALSE(fs::exists(temp / "f.tmp"));
  const SafeTensors back = read_safetensors(temp / "f");
  EXPECT_EQ(back.metadata, safetensors_sample().metadata);
  EXPECT_EQ(read_safetensors_metadata(temp / "f"), safetensors_sample().metadata);
  ASSERT_EQ(back.tensors.size(), safetensors_sample().tensors.size());
  for (const NamedTensor& want : safetensors_sample().tensors) {
    const auto got = std::find_if(back.tensors.begin(), back.tensors.end(),
                                  [&](const NamedTensor& t) { return t.name == want.name; });
    ASSERT_NE(got, back.tensors.end()) << want.name;
    EXPECT_EQ(got->tensor.scalar_type(), want.tensor.scalar_type());
    EXPECT_TRUE(got->tensor.equal(want.tensor)) << want.name;
  }
}

TEST(SafeTensors, WritesRowMajorNumbersWhateverTheMemoryFormat) {
  const testing::TempDir temp;
  const at::Tensor plain = at::arange(24, at::kFloat).view({2, 3, 2, 2});
  write_safetensors(temp / "a", {.tensors = {{"t", plain}}, .metadata = {}});
  write_safetensors(
      temp / "b",
      {.tensors = {{"t", plain.contiguous(at::MemoryFormat::ChannelsLast)}}, .metadata = {}});
  EXPECT_EQ(testing::read_file(temp / "a"), testing::read_file(temp / "b"));
}

TEST(SafeTensors, IsReadByPythonWithoutLibraries) {
  if (std::system("python3 -c 'import struct, json' 2>/dev/null") != 0) {
    GTEST_SKIP() << "there is no python3";
  }
  const testing::TempDir temp;
  write_safetensors(temp / "f", safetensors_sample());
  testing::write_file(temp / "read.py", R"(
import json, struct, sys
b = open(sys.argv[1], 'rb').read()
n, = struct.unpack('<Q', b[:8])
assert n % 8 == 0
h = json.loads(b[8:8 + n])
assert h['__metadata__']['text'] == 'two "words"\n', h
t = h['a.weight']
assert t['dtype'] == 'F32' and t['shape'] == [2, 3], t
begin, end = t['data_offsets']
assert struct.unpack('<6f', b[8 + n + begin:8 + n + end]) == (0, 1, 2, 3, 4, 5)
assert h['steps']['dtype'] == 'I64' and h['steps']['shape'] == []
begin, end = h['steps']['data_offsets']
assert struct.unpack('<q', b[8 + n + begin:8 + n + end]) == (-7,)
)");
  const std::string command =
      "python3 " + (temp / "read.py").string() + " " + (temp / "f").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(SafeTensors, ReadsFilesOfOtherPrograms) {
  const testing::TempDir temp;
  testing::write_file(
      temp / "f",
      make_file(R"({"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}} )", "\x01\xff"));
  const SafeTensors back = read_safetensors(temp / "f");
  ASSERT_EQ(back.tensors.size(), 1U);
  EXPECT_TRUE(back.tensors[0].tensor.equal(at::tensor({1, -1}, at::kChar)));
  EXPECT_TRUE(back.metadata.empty());
  EXPECT_FALSE(back.is_checked);
}

// As other programs write them: nothing for metadata, tensors without numbers, and dtypes that came
// later.
TEST(SafeTensors, ReadsWhatIsRare) {
  const testing::TempDir temp;
  testing::write_file(
      temp / "f",
      make_file(R"({"__metadata__":null,"b":{"dtype":"U16","shape":[2],"data_offsets":[0,4]},)"
                R"("none":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},)"
                R"("last":{"dtype":"C64","shape":[],"data_offsets":[8,16]},)"
                R"("f4":{"dtype":"F4","shape":[4],"data_offsets":[4,6]},)"
                R"("new":{"dtype":"X9","shape":[9],"data_offsets":[6,7]},)"
                R"("f8":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[7,8]},)"
                R"("end":{"dtype":"U64","shape":[0],"data_offsets":[16,16]}})",
                std::string("\1\0\xff\xff"
                            "ab"
                            "c"
                            "\x38"
                            "\0\0\x80\x3f\0\0\0\0",
                            16)));
  const SafeTensors back = read_safetensors(temp / "f");
  EXPECT_TRUE(back.metadata.empty());
  std::map<std::string, at::Tensor> tensors;
  for (const NamedTensor& t : back.tensors) tensors.emplace(t.name, t.tensor);
  ASSERT_EQ(tensors.size(), 5U);
  EXPECT_TRUE(tensors.at("b").to(at::kLong).equal(at::tensor({1, 65535}, at::kLong)));
  EXPECT_EQ(tensors.at("none").sizes().vec(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(tensors.at("last").scalar_type(), at::kComplexFloat);
  EXPECT_EQ(tensors.at("f8").to(at::kFloat).item<float>(), 1);
  ASSERT_EQ(back.unread.size(), 2U);
  EXPECT_EQ(back.unread[0].name, "f4");
  EXPECT_EQ(back.unread[1].what, "has the dtype 'X9'");
}

TEST(SafeTensors, NoticesAFlippedBitInAnyByte) {
  const testing::TempDir temp;
  write_safetensors(temp / "f", safetensors_sample());
  EXPECT_TRUE(read_safetensors(temp / "f").is_checked);
  const std::string good = testing::read_file(temp / "f");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = char(bad[i] ^ (1 << (i % 8)));
    testing::write_file(temp / "bad", bad);
    try {
      // Damage to the name of the CRC makes it a file without one.
      EXPECT_FALSE(read_safetensors(temp / "bad").is_checked) << "byte " << i;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("bad"), std::string::npos) << "byte " << i;
    }
  }
}

TEST(SafeTensors, NoticesEveryTruncation) {
  const testing::TempDir temp;
  write_safetensors(temp / "f", safetensors_sample());
  const std::string good = testing::read_file(temp / "f");
  testing::write_file(temp / "bad", "");
  EXPECT_ERROR(read_safetensors(temp / "bad"), unsupported);
  for (size_t length = 1; length < good.size(); ++length) {
    testing::write_file(temp / "bad", good.substr(0, length));
    EXPECT_ERROR_CODE(read_safetensors(temp / "bad"), corrupt, .path = temp / "bad");
  }
  testing::write_file(temp / "bad", good + "x");
  EXPECT_ERROR(read_safetensors(temp / "bad"), corrupt);
}

TEST(SafeTensors, SaysWhatIsWrongWithAHeader) {
  const testing::TempDir temp;
  const auto expect = [&](const std::string& header, const std::string& numbers) {
    testing::write_file(temp / "f", make_file(header, numbers));
    EXPECT_ERROR(read_safetensors(temp / "f"), corrupt);
  };
  expect("[1]", "");
  expect(R"({"__metadata__":{"a":1}})", "");
  expect(R"({"w":{"dtype":"U8","shape":[2]}})", "ab");
  expect(R"({"w":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})", "ab");
  expect(R"({"w":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,2]}})", "ab");
  expect(R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "ab");
  expect(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab");
  expect(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
         R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
         "abc");
  expect(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4,0],"data_offsets":[0,0]}})", "");
  testing::write_file(temp / "f", std::string("\x00\x10\0\0\0\0\0\0{", 9));
  EXPECT_ERROR(read_safetensors(temp / "f"), corrupt);
  testing::write_file(temp / "f", std::string(8, '\x7f'));
  EXPECT_ERROR(read_safetensors(temp / "f"), unsupported);
  EXPECT_ERROR(read_safetensors(temp / "nothing"), not_found);
}

TEST(SafeTensors, LeavesTheOldFileWhenWritingFails) {
  const testing::TempDir temp;
  write_safetensors(temp / "f", safetensors_sample());
  const std::string before = testing::read_file(temp / "f");
  fs::create_directory(temp / "f.tmp");  // the temporary file cannot be made
  EXPECT_ERROR(write_safetensors(temp / "f", {}), io);
  EXPECT_EQ(testing::read_file(temp / "f"), before);
}

}  // namespace
}  // namespace ffkit
