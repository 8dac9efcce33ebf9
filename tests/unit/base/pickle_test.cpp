#include "base/bytes/pickle.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

using namespace std::string_literals;

std::span<const std::byte> pickle_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// pickle.dumps((b"abc", 7), 4) and the like, as Python writes them.
const std::string kTuple = "\x80\x04\x95\x0b\0\0\0\0\0\0\0"s + "C\x03"s + "abc\x94K\x07\x86\x94.";

TEST(Pickle, ReadsATupleOfBytesAndLabel) {
  Pickle pickle;
  pickle.parse(pickle_bytes(kTuple));
  const auto& items = pickle.items(pickle.root(), "it");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(pickle.bytes(items[0], "bytes").size(), 3U);
  EXPECT_EQ(pickle.bytes(items[0], "bytes").data(),
            pickle_bytes(kTuple).data() + 13);  // not copied
  EXPECT_EQ(pickle.integer(items[1], "label"), 7);
}

TEST(Pickle, WriterGivesPythonsBytes) {
  std::vector<std::byte> out;
  pickle_bytes_and_label(pickle_bytes("abc"), 7, out);
  EXPECT_TRUE(std::ranges::equal(out, pickle_bytes(kTuple)));
  // 64 KiB and more lie outside of frames: PROTO, BINBYTES, data, then FRAME.
  pickle_bytes_and_label(std::vector<std::byte>(65536), 300, out);
  EXPECT_EQ(out.size(), 2 + 5 + 65536 + 9 + 7U);
  EXPECT_EQ(static_cast<char>(out[2]), 'B');
  EXPECT_EQ(static_cast<uint8_t>(out[7 + 65536]), 0x95);
}

TEST(Pickle, LabelsOfEverySizeGoBothWays) {
  for (const int64_t label :
       {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{65535}, int64_t{65536}, int64_t{-1},
        int64_t{-128}, int64_t{-129}, int64_t{1} << 31, -(int64_t{1} << 31) - 1, int64_t{1} << 40,
        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    std::vector<std::byte> out;
    pickle_bytes_and_label({}, label, out);
    Pickle pickle;
    pickle.parse(out);
    EXPECT_EQ(pickle.integer(pickle.items(pickle.root(), "it")[1], "label"), label);
  }
}

TEST(Pickle, ClassListsGoBothWays) {
  std::vector<std::string> classes;
  std::vector<int64_t> targets;
  for (int i = 0; i < 2500; ++i) classes.push_back("n" + std::to_string(i));
  for (int i = 0; i < 5001; ++i) targets.push_back(i % 2500);
  classes[3] = std::string(300, 'x');
  const auto bytes = pickle_class_list(classes, targets);
  Pickle pickle;
  pickle.parse(bytes);
  const auto& read = pickle.items(pickle.at(pickle.root(), "classes"), "classes");
  ASSERT_EQ(read.size(), classes.size());
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(pickle.text(read[i], "class"), classes[i]);
  EXPECT_EQ(pickle.integer(pickle.at(pickle.at(pickle.root(), "class_to_idx"), "n2499"), "index"),
            2499);
  const auto& labels = pickle.items(pickle.at(pickle.root(), "targets"), "targets");
  ASSERT_EQ(labels.size(), targets.size());
  EXPECT_EQ(pickle.integer(labels[5000], "target"), 0);
  EXPECT_ERROR(pickle.at(pickle.root(), "nothing"), corrupt);
  EXPECT_ERROR(pickle.integer(pickle.root(), "the root"), corrupt);
}

TEST(Pickle, ReadsOldProtocols) {
  Pickle pickle;
  // pickle.dumps({"a": [1, None, True, (2, 3)]}, 2)
  const std::string bytes =
      "\x80\x02}q\x00X\x01\x00\x00\x00"s + "aq\x01]q\x02(K\x01N\x88K\x02K\x03\x86q\x03"s + "es.";
  pickle.parse(pickle_bytes(bytes));
  const auto& list = pickle.items(pickle.at(pickle.root(), "a"), "a");
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(pickle.kind(list[1]), Pickle::Kind::none);
  EXPECT_EQ(pickle.kind(list[2]), Pickle::Kind::boolean);
  EXPECT_EQ(pickle.items(list[3], "pair").size(), 2U);
}

TEST(Pickle, OrderedDictIsADict) {
  Pickle pickle;
  const std::string bytes =
      "\x80\x04\x8c\x0b"s + "collections\x8c\x0bOrderedDict\x93)R\x8c\x01xK\x05s.";
  pickle.parse(pickle_bytes(bytes));
  EXPECT_EQ(pickle.integer(pickle.at(pickle.root(), "x"), "x"), 5);
}

TEST(Pickle, NothingIsEverCalled) {
  Pickle pickle;
  // pickle.dumps of an object whose __reduce__ is (os.system, ("id",)), protocols 0 and 4.
  EXPECT_ERROR(pickle.parse(pickle_bytes("cposix\nsystem\n(S'id'\ntR.")), unsupported);
  EXPECT_ERROR(pickle.parse(pickle_bytes(
                   "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x94\x85\x94R.")),
               unsupported);
  // Not even OrderedDict with arguments, or as a value of its own.
  const std::string ordered_dict = "\x8c\x0b"s + "collections\x8c\x0bOrderedDict\x93";
  EXPECT_ERROR(pickle.parse(pickle_bytes(ordered_dict + "K\x01\x85R.")), unsupported);
  EXPECT_ERROR(pickle.parse(pickle_bytes(ordered_dict + ".")), unsupported);
  // NEWOBJ, BUILD, INST, OBJ, EXT1, PERSID, REDUCE of a value.
  for (const char* opcodes :
       {")\x81.", "}}b.", "(iposix\nsystem\n.", "(o.", "\x82\x01.", "Pid\n."}) {
    EXPECT_ERROR(pickle.parse(pickle_bytes(opcodes)), unsupported);
  }
  EXPECT_ERROR(pickle.parse(pickle_bytes("K\x01)R.")), unsupported);
}

TEST(Pickle, BrokenOnesAreRefused) {
  Pickle pickle;
  for (const std::string& bytes : {""s,
                                   "."s,
                                   "K"s,
                                   "K\x01"s,
                                   "K\x01K\x02."s,
                                   "(."s,
                                   "e."s,
                                   "]a."s,
                                   "}K\x01s."s,
                                   "}(K\x01u."s,
                                   "h\x05."s,
                                   "t."s,
                                   "\x86."s,
                                   "K\x01\x86."s,
                                   "0."s,
                                   "K\x01."s + "x",
                                   "\x80\x06K\x01."s,
                                   "K\x01(K\x02"s + "a."s,
                                   "B\xff\xff\xff\xff"s + "abc."s,
                                   "\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s,
                                   "\x95\xff\xff\xff\xff\xff\xff\xff\xffK\x01."s,
                                   "2."s,
                                   "\x94."s}) {
    EXPECT_ERROR(pickle.parse(pickle_bytes(bytes)), corrupt) << ::testing::PrintToString(bytes);
  }
}

TEST(Pickle, WhatFollowsItsEndIsCounted) {
  Pickle pickle;
  EXPECT_ERROR(pickle.parse(pickle_bytes("K\x01.xyz"s)), corrupt);
}

TEST(Pickle, EveryTruncationIsRefused) {
  const auto whole = pickle_class_list({"a", "b", "c"}, std::vector<int64_t>{0, 1, 2, 70000, -5});
  Pickle pickle;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_ERROR_CODE(pickle.parse(std::span(whole).first(size)), corrupt) << size;
  }
}

// pickle.dumps of what no plain value is, by hand in protocol 2: nothing of it is called, and it
// can be looked at.
TEST(Pickle, MakesValuesOfObjectsOnRequest) {
  const std::string text =
      "\x80\x02}(X\x04\0\0\0callcos\nsystem\nX\x01\0\0\0x\x85RX\x04\0\0\0realG"s +
      "\0\0\0\0\0\0\0\0X\x02\0\0\0idK\x05QX\x05\0\0\0builtca\nB\n)\x81}bu."s;
  Pickle pickle;
  EXPECT_ERROR(pickle.parse(pickle_bytes(text)), unsupported);
  pickle.parse(pickle_bytes(text), Pickle::Objects::as_values);
  const Pickle::Ref call = pickle.at(pickle.root(), "call");
  ASSERT_EQ(pickle.kind(call), Pickle::Kind::call);
  EXPECT_EQ(pickle.global_name(pickle.items(call, "it")[0]), "os.system");
  EXPECT_EQ(pickle.text(pickle.items(pickle.items(call, "it")[1], "it")[0], "it"), "x");
  EXPECT_EQ(pickle.kind(pickle.at(pickle.root(), "real")), Pickle::Kind::real);
  const Pickle::Ref id = pickle.at(pickle.root(), "id");
  ASSERT_EQ(pickle.kind(id), Pickle::Kind::persistent);
  EXPECT_EQ(pickle.integer(pickle.items(id, "it")[0], "it"), 5);
  EXPECT_EQ(pickle.kind(pickle.at(pickle.root(), "built")), Pickle::Kind::call);
  EXPECT_EQ(pickle.global_name(pickle.root()), "");
  // The state that BUILD gives it.
  EXPECT_EQ(pickle.kind(pickle.items(pickle.at(pickle.root(), "built"), "it").at(2)),
            Pickle::Kind::dict);
}

TEST(Pickle, ReadsWhatPython2Wrote) {
  const std::string text =
      "\x80\x02}(U\x01"
      "aT\x02\0\0\0bcU\x01"
      "dccollections\nOrderedDict\n]]"
      "(U\x01kK\x07"
      "ea\x85Ru."s;
  Pickle pickle;
  EXPECT_ERROR(pickle.parse(pickle_bytes(text)), unsupported);
  pickle.parse(pickle_bytes(text), Pickle::Objects::as_values);
  EXPECT_EQ(pickle.text(pickle.at(pickle.root(), "a"), "it"), "bc");
  EXPECT_EQ(pickle.integer(pickle.at(pickle.at(pickle.root(), "d"), "k"), "it"), 7);
  EXPECT_ERROR(pickle.parse(pickle_bytes("ccollections\nOrderedDict\n](K\x01K\x02"
                                         "e\x85R."s),
                            Pickle::Objects::as_values),
               corrupt);
}

TEST(Pickle, IsReadBeforeOtherBytes) {
  Pickle pickle;
  EXPECT_EQ(pickle.parse_first(pickle_bytes("K\x05.K\x06."s)), 3U);
  EXPECT_EQ(pickle.integer(pickle.root(), "it"), 5);
  EXPECT_EQ(pickle.end(), 1U);
}

}  // namespace
}  // namespace ffkit
