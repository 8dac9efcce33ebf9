#include "dataset/split_name.h"

#include <gtest/gtest.h>

#include <string>

namespace ffkit {
namespace {

TEST(SplitName, IsThatOfAFolder) {
  for (const char* name : {"train", "val", "train2017", "my val", "mini_train_sweeps", "züge"}) {
    EXPECT_EQ(fault_of_split_name(name), "") << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("/x"),
        std::string("a/b"), std::string(".ffkit-unfinished"), std::string("a\nb"),
        std::string("a\0b", 3), std::string("\x1b[2J"), std::string("\xff"),
        std::string("report.jsonl"), std::string(201, 'x')}) {
    EXPECT_NE(fault_of_split_name(name), "") << name;
  }
}

}  // namespace
}  // namespace ffkit
