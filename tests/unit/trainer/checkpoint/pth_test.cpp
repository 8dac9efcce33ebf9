#include "files/pth.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <sys/resource.h>

#include "files/torch_file.h"
#include "reference_python.h"
#include "support/pth_builder.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

using testing::pickle_dict;
using testing::PickledTensor;
using testing::pth_entries;
using testing::write_zip;

std::map<std::string, at::Tensor> read(const fs::path& path) {
  std::map<std::string, at::Tensor> all;
  for (const NamedTensor& t : read_pth(File::open_for_reading(path)).tensors)
    all.emplace(t.name, t.tensor);
  return all;
}

at::Tensor picture() {
  return at::arange(24, at::kFloat).view({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast);
}

std::vector<NamedTensor> pth_sample() {
  return {{"a.weight", at::arange(6, at::kFloat).view({2, 3})},
          {"steps", at::scalar_tensor(-7, at::kLong)},
          {"part", at::arange(10, at::kDouble).narrow(0, 3, 4)},
          {"picture", picture()},
          {"none", at::empty({0, 4})}};
}

// Its archive cannot be ended then, which libtorch's destructor of it does not take.
TEST(Pth, LeavesNothingWhenTheFileCannotGrow) {
  const testing::TempDir temp;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t num_bytes : {0, 100, 500}) {
    std::string message;
    const rlimit limit{.rlim_cur = num_bytes, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    try {
      write_pth(temp / "f.pth", pth_sample());
    } catch (const Error& error) {
      message = error.what();
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(message, HasSubstr("f.pth.tmp: cannot write")) << num_bytes;
    EXPECT_TRUE(fs::is_empty(temp.path()));
  }
  static_cast<void>(std::signal(SIGXFSZ, old_handler));
}

TEST(Pth, ReadsWhatItWrote) {
  const testing::TempDir temp;
  write_pth(temp / "f.pth", pth_sample());
  EXPECT_FALSE(fs::exists(temp / "f.pth.tmp"));
  EXPECT_EQ(torch_form(File::open_for_reading(temp / "f.pth")), TorchForm::zip);
  const auto back = read(temp / "f.pth");
  ASSERT_EQ(back.size(), pth_sample().size());
  for (const NamedTensor& want : pth_sample()) {
    ASSERT_TRUE(back.contains(want.name));
    EXPECT_EQ(back.at(want.name).scalar_type(), want.tensor.scalar_type());
    EXPECT_TRUE(back.at(want.name).equal(want.tensor)) << want.name;
  }
}

TEST(Pth, IsReadByPython) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir temp;
  write_pth(temp / "f.pth", pth_sample());
  EXPECT_TRUE(testing::run_python(R"(
import torch
d = torch.load('f.pth', weights_only=True)
assert list(d) == ['a.weight', 'steps', 'part', 'picture', 'none'], list(d)
assert d['a.weight'].tolist() == [[0, 1, 2], [3, 4, 5]] and d['a.weight'].dtype == torch.float32
assert d['steps'].shape == () and d['steps'].item() == -7 and d['steps'].dtype == torch.int64
assert d['part'].tolist() == [3, 4, 5, 6] and d['part'].dtype == torch.float64
assert d['part'].untyped_storage().nbytes() == 32
assert d['picture'].shape == (1, 2, 3, 4) and d['picture'].flatten().tolist() == list(range(24))
assert d['none'].shape == (0, 4)
assert not d['a.weight'].requires_grad
)",
                                  temp.path()));
}

TEST(Pth, ReadsPythons) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir temp;
  ASSERT_TRUE(testing::run_python(R"(
import argparse, collections, numpy, random, torch
base = torch.arange(24.).view(4, 6)
d = collections.OrderedDict(whole=base, transposed=base.t(), row=base[1], column=base[:, 2], expanded=base[0, :1].expand(5, 2),
    parameter=torch.nn.Parameter(base), scalar=torch.tensor(5))
for t in 'float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool'.split():
    d[t] = torch.tensor([0, 1, 3]).to(getattr(torch, t))
d._metadata = {'': {'version': 1}}
torch.save(d, 'plain.pth')
m = torch.nn.Linear(2, 3)
torch.save(m.state_dict(), 'module.pth')
optimizer = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
m(torch.ones(1, 2)).sum().backward()
optimizer.step()
torch.save({'model': m.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3, 'best': numpy.float64(0.5), 'rng': random.getstate(),
    'args': argparse.Namespace(lr=0.1, names={'a', 'b'}, big=1 << 100, some=collections.defaultdict(int, a=1), queue=collections.deque([1]))}, 'training.pth')
torch.save({'epoch': 1.5, 'state_dict': m.state_dict()}, 'imagenet.pth')
torch.save({'model_state_dict': m.state_dict()}, 'tutorial.pth')
torch.save(d, 'old.pth', _use_new_zipfile_serialization=False)
torch.save({'model': m.state_dict(), 'optimizer': optimizer.state_dict()}, 'old_training.pth', _use_new_zipfile_serialization=False)
torch.save(m, 'whole_model.pth')
torch.save({'model': m, 'epoch': 1}, 'whole_in_dict.pth', _use_new_zipfile_serialization=False)
torch.serialization.set_crc32_options(False)
torch.save(m.state_dict(), 'no_crc.pth')
torch.serialization.set_crc32_options(True)
import zipfile
with zipfile.ZipFile('module.pth') as a, zipfile.ZipFile('deflated.pth', 'w', zipfile.ZIP_DEFLATED) as b:
    for name in a.namelist(): b.writestr(name, a.read(name))
torch.jit.script(m).save('script.pt')
odd = {t: torch.tensor([0., 1, 3]).to(getattr(torch, t)) for t in 'uint16 uint32 uint64 float8_e4m3fn float8_e5m2 complex64'.split()}
torch.save(odd | {'sparse': torch.eye(3).to_sparse(), 'meta': torch.ones(3, device='meta')}, 'odd.pth')
torch.save(m.state_dict(), 'protocol4.pth', pickle_protocol=4)
)",
                                  temp.path()));
  const auto d = read(temp / "plain.pth");
  ASSERT_EQ(d.size(), 16U);
  const at::Tensor base = at::arange(24, at::kFloat).view({4, 6});
  EXPECT_TRUE(d.at("whole").equal(base));
  EXPECT_TRUE(d.at("transposed").equal(base.t()));
  EXPECT_TRUE(d.at("row").equal(base[1]));
  EXPECT_TRUE(d.at("column").equal(base.select(1, 2)));
  EXPECT_TRUE(d.at("expanded").equal(at::zeros({5, 2})));
  EXPECT_TRUE(d.at("parameter").equal(base));
  EXPECT_EQ(d.at("scalar").item<int64_t>(), 5);
  const std::map<std::string, at::ScalarType> types = {
      {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16},
      {"int64", at::kLong},     {"int32", at::kInt},    {"int16", at::kShort},
      {"int8", at::kChar},      {"uint8", at::kByte},   {"bool", at::kBool}};
  for (const auto& [name, type] : types) {
    EXPECT_TRUE(d.at(name).equal(at::tensor({0, 1, 3}).to(type))) << name;
  }
  for (const char* name : {"module", "training", "imagenet", "tutorial", "protocol4",
                           "old_training", "whole_model", "whole_in_dict", "no_crc", "deflated"}) {
    const auto linear = read(temp / (std::string(name) + ".pth"));
    ASSERT_EQ(linear.size(), 2U) << name;
    EXPECT_EQ(linear.at("weight").sizes().vec(), (std::vector<int64_t>{3, 2})) << name;
    EXPECT_EQ(linear.at("bias").sizes().vec(), (std::vector<int64_t>{3})) << name;
  }
  // Before torch 1.6.
  EXPECT_EQ(torch_form(File::open_for_reading(temp / "old.pth")), TorchForm::pickles);
  const auto old = read(temp / "old.pth");
  ASSERT_EQ(old.size(), d.size());
  for (const auto& [name, tensor] : d) EXPECT_TRUE(old.at(name).equal(tensor)) << name;
  const auto odd = read(temp / "odd.pth");
  ASSERT_EQ(odd.size(), 6U);
  for (const auto& [name, tensor] : odd) {
    if (name == "complex64") continue;
    EXPECT_TRUE(tensor.to(at::kFloat).equal(at::tensor({0.F, 1.F, 3.F}))) << name;
  }
  const Pth pth = read_pth(File::open_for_reading(temp / "odd.pth"));
  ASSERT_EQ(pth.unread.size(), 2U);
  EXPECT_EQ(pth.unread[0].what, "is made by torch._utils._rebuild_sparse_tensor");
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "script.pt")), unsupported);
}

TEST(Pth, ReadsASmallFile) {
  const testing::TempDir temp;
  write_zip(temp / "f", pth_entries(pickle_dict({{"w", PickledTensor{}.bytes()}})));
  EXPECT_TRUE(read(temp / "f").at("w").equal(at::tensor({1.F, 2.F, 3.F, 4.F}).view({2, 2})));
}

TEST(Pth, RefusesHostilePickles) {
  const testing::TempDir temp;
  const auto expect = [&](const std::string& pickle, ErrorCode code) {
    write_zip(temp / "f", pth_entries(pickle));
    const std::string path = temp / "f";
    EXPECT_TRUE(testing::throws_error([&] { read_pth(File::open_for_reading(path)); }, code,
                                      {.path = path}));
  };
  const auto tensor = [](const PickledTensor& t) { return pickle_dict({{"w", t.bytes()}}); };
  constexpr int64_t kHuge = int64_t{1} << 62;
  using enum ErrorCode;
  expect(pickle_dict({{"w", "cos\nsystem\n(" + testing::pickle_text("true") + "tR"}}), unsupported);
  expect(pickle_dict({{"w", "cbuiltins\neval\n(" + testing::pickle_text("1") + "t\x81"}}),
         unsupported);
  expect(pickle_dict({{"v", PickledTensor{}.bytes()},
                      {"w", "cos\nsystem\n(" + testing::pickle_text("true") + "tR"}}),
         unsupported);
  expect(pickle_dict({{"w", "K\x01"}}), unsupported);
  expect("K\x01", unsupported);
  expect("}(K\x01" + PickledTensor{}.bytes() + "u", unsupported);
  expect("i", unsupported);
  expect(tensor({.key = "1"}), corrupt);
  expect(tensor({.offset = 1}), corrupt);
  expect(tensor({.offset = -1}), corrupt);
  expect(tensor({.sizes = {2, -2}}), corrupt);
  expect(tensor({.strides = {-2, 1}}), corrupt);
  expect(tensor({.sizes = {2}}), corrupt);
  expect(tensor({.sizes = {kHuge, kHuge}, .strides = {0, 0}}), corrupt);
  expect(tensor({.sizes = {kHuge, 2}, .strides = {4, 1}}), corrupt);
  expect(pickle_dict({{"w", PickledTensor{}.bytes()},
                      {"v", PickledTensor{.storage_type = "torch\nDoubleStorage"}.bytes()}}),
         corrupt);
}

TEST(Pth, ChoosesAmongSeveralDicts) {
  const testing::TempDir temp;
  const auto keys = [&](const std::vector<std::pair<std::string, std::string>>& dicts,
                        const std::string& key) {
    write_zip(temp / "f", pth_entries(pickle_dict(dicts)));
    return read_pth(File::open_for_reading(temp / "f"), key);
  };
  const std::string a = pickle_dict({{"a", PickledTensor{}.bytes()}});
  const std::string b = pickle_dict({{"b", PickledTensor{}.bytes()}});
  const auto name = [](const Pth& pth) { return pth.tensors.at(0).name; };
  Pth pth = keys({{"model_ema", b}, {"model", a}, {"epoch", "K\x01"}}, "");
  EXPECT_EQ(name(pth), "a");
  ASSERT_EQ(pth.notes.size(), 1U);
  EXPECT_EQ(pth.notes[0],
            "the tensors of 'model' are used; the file also has 'model_ema' (--weights-key)");
  pth = keys({{"model_ema", b}, {"model", a}}, "model_ema");
  EXPECT_EQ(name(pth), "b");
  EXPECT_TRUE(pth.notes.empty());
  pth = keys({{"ema", pickle_dict({{"module", b}})}, {"net", a}}, "ema.module");
  EXPECT_EQ(name(pth), "b");
  pth = keys({{"ema", pickle_dict({{"module", b}})}, {"net", a}}, "ema");
  EXPECT_EQ(name(pth), "b");
  pth = keys({{"teacher", b}, {"student", a}}, "teacher.backbone");
  EXPECT_EQ(name(pth), "b");
  EXPECT_EQ(pth.prefix, "backbone");
  pth = keys({{"anything", a}, {"epoch", "K\x01"}}, "");
  EXPECT_EQ(name(pth), "a");
  EXPECT_EQ(pth.notes.at(0), "the tensors of 'anything' are used");
  pth = keys({{"w", PickledTensor{}.bytes()}, {"epoch", "K\x01"}, {"_extra_state", "N"}}, "");
  EXPECT_EQ(name(pth), "w");
  EXPECT_EQ(pth.notes.at(0), "left out, because they are not tensors: 'epoch'");
  EXPECT_ERROR(keys({{"x", a}, {"y", b}}, ""), unsupported);
  EXPECT_ERROR(keys({{"state", "}"}, {"param_groups", "]"}}, ""), unsupported);
}

// torch before 0.2 wrote a tar, in which tensors and storages are beside the pickle.
TEST(Pth, ReadsTars) {
  const testing::TempDir temp;
  const auto whole = [](const std::string& value) { return testing::whole_pickle(value); };
  const auto item = [&](int64_t key, const std::string& second, const std::string& type) {
    return whole(testing::pickle_integer(key) + second + "ctorch\n" + type + "\n\x87");
  };
  const auto number = [](int64_t value) { return testing::pickle_integer(value).substr(2); };
  testing::ZipEntries entries = {
      {"sys_info", whole("}")},
      {"pickle", whole("}" + testing::pickle_text("w") + testing::pickle_text("7") + "Qs")},
      {"tensors", whole("K\x01") + item(7, testing::pickle_integer(6), "FloatTensor") +
                      std::string("\2\0\0\0\0\0\0\0", 8) + number(1) + number(2) + number(2) +
                      number(1) + number(0)},
      {"storages", whole("K\x01") + item(5, testing::pickle_text("cpu"), "FloatStorage") +
                       number(4) + pth_entries("")[2].second + whole("](K\x06K\x05K\x01K\x03ta")}};
  const auto write = [&] { testing::write_tar(temp / "f", entries); };
  write();
  EXPECT_EQ(torch_form(File::open_for_reading(temp / "f")), TorchForm::tar);
  // A view of the storage from its second number on.
  EXPECT_TRUE(read(temp / "f").at("w").equal(at::tensor({2.F, 3.F}).view({1, 2})));
  entries[3].second.resize(entries[3].second.size() - 40);
  write();
  EXPECT_THROW(read_pth(File::open_for_reading(temp / "f")), Error);
  entries.pop_back();
  write();
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), unsupported);
}

TEST(Pth, RefusesOtherZips) {
  const testing::TempDir temp;
  write_zip(temp / "f", {{"a/readme", "text"}});
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), unsupported);
  auto entries = pth_entries(pickle_dict({{"w", PickledTensor{}.bytes()}}));
  entries[1].second = "big";
  write_zip(temp / "f", entries);
  for (size_t i = 0; i < 16; i += 4)
    std::reverse(entries[2].second.begin() + long(i), entries[2].second.begin() + long(i) + 4);
  write_zip(temp / "f", entries);
  EXPECT_TRUE(read(temp / "f").at("w").equal(at::tensor({1.F, 2.F, 3.F, 4.F}).view({2, 2})));
  write_zip(temp / "f", {{"a/x.npy", "text"}});
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), unsupported);
  write_zip(temp / "f", {{"a/x.pth", "text"}});
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), unsupported);
  testing::write_file(temp / "f", "text");
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), unsupported);
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "none")), not_found);
}

TEST(Pth, NoticesEveryTruncation) {
  const testing::TempDir temp;
  write_pth(temp / "f", {{"w", at::arange(6)}});
  const std::string good = testing::read_file(temp / "f");
  for (size_t length = 0; length < good.size(); length += 7) {
    testing::write_file(temp / "bad", good.substr(0, length));
    EXPECT_THROW(read_pth(File::open_for_reading(temp / "bad")), Error) << length;
  }
}

TEST(Pth, NoticesAFlippedBitInTheNumbers) {
  const testing::TempDir temp;
  write_pth(temp / "f", {{"w", at::arange(6)}});
  std::string bytes = testing::read_file(temp / "f");
  const at::Tensor numbers = at::arange(6);
  const std::string_view needle(static_cast<const char*>(numbers.const_data_ptr()),
                                numbers.nbytes());
  const size_t at = bytes.find(needle);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 9] ^= 1;
  testing::write_file(temp / "f", bytes);
  EXPECT_ERROR(read_pth(File::open_for_reading(temp / "f")), corrupt);
}

// Any bytes end in tensors that can be looked at, or in an Error.
TEST(Pth, SurvivesAnyChange) {
  const testing::TempDir temp;
  const std::string pickle = pickle_dict(
      {{"model", pickle_dict({{"v", PickledTensor{}.bytes()},
                              {"w", PickledTensor{.sizes = {4}, .strides = {1}}.bytes()}})}});
  const testing::ZipEntries good = pth_entries(pickle);
  std::mt19937 random(1);
  int num_read = 0;
  for (int i = 0; i < 4000; ++i) {
    testing::ZipEntries entries = good;
    // Every second time the zip is whole and only the pickle changed: its CRC-32 would stop all
    // changes otherwise.
    std::string* target = &entries[0].second;
    std::string file;
    if (i % 2 == 1) {
      write_zip(temp / "f", entries);
      file = testing::read_file(temp / "f");
      target = &file;
    }
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % target->size();
      switch (random() % 3) {
        case 0:
          (*target)[at] = char(random());
          break;
        case 1:
          target->erase(at, 1 + random() % 8);
          break;
        default:
          target->insert(at, target->substr(random() % target->size(), 1 + random() % 30));
      }
    }
    if (i % 2 == 1) {
      testing::write_file(temp / "f", file);
    } else {
      write_zip(temp / "f", entries);
    }
    try {
      for (const auto& [name, tensor] : read(temp / "f")) {
        if (tensor.numel() > 0 && tensor.numel() < 1000) tensor.to(at::kDouble).sum();
      }
      ++num_read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(num_read, 50);
}

}  // namespace
}  // namespace ffkit
