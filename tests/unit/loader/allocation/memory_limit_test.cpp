#include "allocation/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "temp_dir.h"

namespace ffkit {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  std::optional<int64_t> limit(const std::string& groups) {
    write("groups", groups);
    return cgroup_memory_limit(dir_ / "groups", dir_ / "mount");
  }
  testing::TempDir dir_;
};

TEST_F(MemoryLimitTest, Version2TakesTheSmallestOfTheGroupAndThoseAround) {
  write("mount/a/memory.max", "5000\n");
  write("mount/a/b/memory.max", "8000\n");
  write("mount/other/memory.max", "1\n");
  EXPECT_EQ(limit("0::/a/b\n"), 5000);
  write("mount/a/b/memory.max", "3000\n");
  EXPECT_EQ(limit("0::/a/b\n"), 3000);
  write("mount/a/memory.max", "max\n");
  EXPECT_EQ(limit("0::/a/b\n"), 3000);
  write("mount/a/b/memory.max", "max\n");
  EXPECT_EQ(limit("0::/a/b\n"), std::nullopt);
}

TEST_F(MemoryLimitTest, Version2InAContainerWithAGroupNamespace) {
  write("mount/memory.max", "17179869184\n");
  EXPECT_EQ(limit("0::/\n"), int64_t{16} << 30);
}

TEST_F(MemoryLimitTest, Version1ReadsTheMemoryController) {
  write("mount/memory/a/memory.limit_in_bytes", "7000\n");
  write("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit("5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n"), 7000);
  EXPECT_EQ(limit("4:hugetlb,memory:/a\n"), 7000);
  EXPECT_EQ(limit("4:memory:/\n"), 9223372036854771712);
}

TEST_F(MemoryLimitTest, HostsPathInAContainerFallsBackToWhatIsMounted) {
  write("mount/memory/memory.limit_in_bytes", "6000\n");
  EXPECT_EQ(limit("4:memory:/docker/0123\n"), 6000);
}

TEST_F(MemoryLimitTest, NothingIsNoLimit) {
  EXPECT_EQ(limit(""), std::nullopt);
  EXPECT_EQ(limit("no colons\n1:name=systemd:/\n0::/gone\n"), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit("/nowhere", "/nowhere"), std::nullopt);
}

TEST_F(MemoryLimitTest, ThisProcessMayUseSomeMemoryAndNotMoreThanThereIs) {
  EXPECT_GT(usable_memory_bytes(), 1 << 20);
  EXPECT_LE(usable_memory_bytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace ffkit
