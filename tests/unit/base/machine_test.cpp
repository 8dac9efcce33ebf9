#include <sched.h>

#include <ffkit/base/machine.h>

#include "base/machine/cgroup_limits.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  std::optional<int64_t> limit(const std::string& groups) {
    write("groups", groups);
    return cgroup_memory_limit(place());
  }
  std::optional<double> quota(const std::string& groups) {
    write("groups", groups);
    return cgroup_cpu_quota(place());
  }
  CgroupPlace place() const { return {dir_ / "groups", dir_ / "mount"}; }
  testing::TempDir dir_;
};

TEST_F(MachineTest, Version2TakesTheSmallestOfTheGroupAndThoseAround) {
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

TEST_F(MachineTest, Version2InAContainerWithAGroupNamespace) {
  write("mount/memory.max", "17179869184\n");
  EXPECT_EQ(limit("0::/\n"), int64_t{16} << 30);
}

TEST_F(MachineTest, Version1ReadsTheMemoryController) {
  write("mount/memory/a/memory.limit_in_bytes", "7000\n");
  write("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit("5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n"), 7000);
  EXPECT_EQ(limit("4:hugetlb,memory:/a\n"), 7000);
  EXPECT_EQ(limit("4:memory:/\n"), 9223372036854771712);
}

TEST_F(MachineTest, HostsPathInAContainerFallsBackToWhatIsMounted) {
  write("mount/memory/memory.limit_in_bytes", "6000\n");
  EXPECT_EQ(limit("4:memory:/docker/0123\n"), 6000);
}

TEST_F(MachineTest, NothingIsNoLimit) {
  EXPECT_EQ(limit(""), std::nullopt);
  EXPECT_EQ(limit("no colons\n1:name=systemd:/\n0::/gone\n"), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit({"/nowhere", "/nowhere"}), std::nullopt);
}

TEST_F(MachineTest, ThisProcessMayUseSomeMemoryAndNotMoreThanThereIs) {
  EXPECT_GT(usable_memory_bytes(), 1 << 20);
  EXPECT_LE(usable_memory_bytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

TEST_F(MachineTest, QuotaOfVersion2IsTheSmallestOfTheGroupAndThoseAround) {
  write("mount/a/cpu.max", "400000 100000\n");
  write("mount/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 4.0);
  write("mount/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 1.5);
  EXPECT_EQ(quota("0::/a\n"), 4.0);
  write("mount/cpu.max", "50000 50000\n");  // a container sees its own group at the mount
  EXPECT_EQ(quota("0::/docker/0123\n"), 1.0);
}

TEST_F(MachineTest, QuotaOfVersion1) {
  write("mount/cpu/a/cpu.cfs_quota_us", "200000\n");
  write("mount/cpu/a/cpu.cfs_period_us", "100000\n");
  write("mount/cpu/cpu.cfs_quota_us", "-1\n");
  write("mount/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("5:cpu:/a\n4:memory:/x\n0::/\n"), 2.0);
  EXPECT_EQ(quota("5:cpu,cpuacct:/a\n"), 2.0);
  EXPECT_EQ(quota("5:cpu:/\n"), std::nullopt);
  write("mount/cpu,cpuacct/b/cpu.cfs_quota_us", "300000\n");
  write("mount/cpu,cpuacct/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("5:cpu,cpuacct:/b\n"), 3.0);
}

TEST_F(MachineTest, BrokenQuotasAreNone) {
  for (const char* text : {"", "max\n", "words here\n", "100000\n", "100000 0\n", "-5 100000\n"}) {
    write("mount/a/cpu.max", text);
    EXPECT_EQ(quota("0::/a\n"), std::nullopt) << text;
  }
}

TEST_F(MachineTest, CpusetIsThatOfTheInnermostGroup) {
  const auto cpuset = [&](const std::string& groups) {
    write("groups", groups);
    return cgroup_cpuset_size(place());
  };
  write("mount/cpuset.cpus.effective", "0-127\n");
  write("mount/a/cpuset.cpus.effective", "0-3,8\n");
  write("mount/a/b/cpuset.cpus.effective", "\n");
  EXPECT_EQ(cpuset("0::/a/b\n"), 5);
  EXPECT_EQ(cpuset("0::/other\n"), 128);
  write("mount/cpuset/c/cpuset.cpus", "2\n");
  EXPECT_EQ(cpuset("3:cpuset:/c\n"), 1);
  EXPECT_EQ(cpuset("3:cpu:/c\n"), std::nullopt);
}

TEST(CountInList, CountsNumbersAndRanges) {
  EXPECT_EQ(count_in_list("0"), 1);
  EXPECT_EQ(count_in_list("0-3,7,9-10\n"), 7);
  for (const char* text : {"", "\n", "3-1", "a", "1,", "1-", "1;2", "99999999999"}) {
    EXPECT_EQ(count_in_list(text), std::nullopt) << text;
  }
}

TEST(UsableCores, AreTheSmallerOfBindingAndQuota) {
  EXPECT_EQ(usable_cores({.bound_to = 128, .of_all = 128}), 128);
  EXPECT_EQ(usable_cores({.bound_to = 128, .of_all = 128, .quota = 4.0}), 4);
  EXPECT_EQ(usable_cores({.bound_to = 128, .of_all = 128, .quota = 3.2}), 4);
  EXPECT_EQ(usable_cores({.bound_to = 1, .of_all = 128, .quota = 4.0}), 1);
  EXPECT_EQ(usable_cores({.bound_to = 8, .of_all = 8, .quota = 0.05}), 1);
}

TEST(CoreShare, DividesWhatIsThereForAll) {
  EXPECT_EQ(core_share({.bound_to = 128, .of_all = 128}, 8), 16);
  EXPECT_EQ(core_share({.bound_to = 16, .of_all = 128}, 8), 16);  // bound by the launcher
  EXPECT_EQ(core_share({.bound_to = 4, .of_all = 128}, 8), 4);
  EXPECT_EQ(core_share({.bound_to = 8, .of_all = 8}, 4), 2);  // a container's cpuset
  EXPECT_EQ(core_share({.bound_to = 128, .of_all = 128, .quota = 8.0}, 4), 2);
  EXPECT_EQ(core_share({.bound_to = 128, .of_all = 128, .quota = 3.2}, 1), 4);  // all of it
  EXPECT_EQ(core_share({.bound_to = 128, .of_all = 128, .quota = 3.2}, 2), 2);
  EXPECT_EQ(core_share({.bound_to = 2, .of_all = 2}, 5), 1);
  EXPECT_EQ(core_share({.bound_to = 2, .of_all = 2}, 0), 2);
}

TEST(UsableCores, AreThoseThatTheProcessIsBoundTo) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(core_share(1), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace ffkit
