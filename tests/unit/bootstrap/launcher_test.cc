// What launchers say, as real ones set it (recorded on Debian 12: Open MPI 4.1.4, MPICH 4.0.2, Slurm 22.05;
// torchrun and Kubernetes after their documentation), and what contradicts itself.
#include <gtest/gtest.h>

#include <map>

#include "bootstrap/hostlist.h"
#include "bootstrap/launcher.h"

namespace plait::bootstrap {
namespace {

using Environment = std::map<std::string, std::string>;

Result<Launch> detect_in(const Environment& environment) {
  return detect([&](const char* name) -> const char* {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

Environment operator+(Environment a, const Environment& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

Environment without(Environment e, const std::string& name) {
  e.erase(name);
  return e;
}

const Environment kTorchrun = {{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"GROUP_RANK", "1"},
                               {"GROUP_WORLD_SIZE", "2"},
                               {"ROLE_RANK", "5"},
                               {"ROLE_WORLD_SIZE", "8"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "none"},
                               {"TORCHELASTIC_RESTART_COUNT", "0"}};
const Environment kPlaitRun = {
    {"RANK", "1"},       {"WORLD_SIZE", "2"},          {"LOCAL_RANK", "1"},      {"LOCAL_WORLD_SIZE", "2"},
    {"GROUP_RANK", "0"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "41234"}, {"PLAIT_JOB", "0123abc"}};
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"OMPI_MCA_ess_base_jobid", "905445377"},
                              {"PMIX_NAMESPACE", "905445377"},     {"PMIX_RANK", "1"}};
const Environment kMpich = {{"PMI_RANK", "1"},        {"PMI_SIZE", "2"},        {"PMI_FD", "8"},
                            {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}, {"HYDI_CONTROL_FD", "7"}};
const Environment kSrun = {{"SLURM_PROCID", "1"},         {"SLURM_NTASKS", "2"},
                           {"SLURM_NPROCS", "2"},         {"SLURM_LOCALID", "1"},
                           {"SLURM_NNODES", "1"},         {"SLURM_JOB_ID", "1"},
                           {"SLURM_JOBID", "1"},          {"SLURM_STEP_ID", "0"},
                           {"SLURM_STEPID", "0"},         {"SLURM_STEP_NUM_TASKS", "2"},
                           {"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_NODELIST", "vm"},
                           {"SLURM_JOB_NODELIST", "vm"},  {"SLURM_STEP_TASKS_PER_NODE", "2"}};
// The batch script itself, and what mpirun of MPICH leaves of Slurm's in a rank that it started from there.
const Environment kBatch = {{"SLURM_PROCID", "0"},  {"SLURM_NTASKS", "2"}, {"SLURM_NPROCS", "2"},
                            {"SLURM_LOCALID", "0"}, {"SLURM_NNODES", "1"}, {"SLURM_JOB_ID", "2"}};
const Environment kBatchStep = kBatch + Environment{{"SLURM_STEP_ID", "0"},
                                                    {"SLURM_STEP_NUM_TASKS", "1"},
                                                    {"SLURM_STEP_NUM_NODES", "1"},
                                                    {"SLURM_STEP_NODELIST", "vm"}};
const Environment kPod = {
    {"JOB_COMPLETION_INDEX", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "train-0.train"}};

void expect(const Environment& e, const std::string& source, int rank, int size, const std::string& job,
            const std::string& root_host) {
  auto launch = detect_in(e);
  ASSERT_TRUE(launch.ok()) << launch.status().text();
  EXPECT_EQ(launch->source, source);
  EXPECT_EQ(launch->rank, rank);
  EXPECT_EQ(launch->size, size);
  EXPECT_EQ(launch->job, job);
  EXPECT_EQ(launch->root, root_host.empty() ? "" : root_host + ":" + std::to_string(root_port(job)));
}

void expect_error(const Environment& e, const std::vector<std::string>& parts) {
  auto launch = detect_in(e);
  ASSERT_FALSE(launch.ok()) << launch->source << " " << launch->rank << "/" << launch->size;
  EXPECT_EQ(launch.status().code(), Code::invalid);
  for (const auto& part : parts) {
    EXPECT_NE(launch.status().text().find(part), std::string::npos)
        << launch.status().text() << " lacks " << part;
  }
}

TEST(Launcher, EachIsRead) {
  expect({}, "none", 0, 1, "", "");
  expect(kTorchrun, "torchrun or plait-run", 5, 8, "none/node1/29500/0", "node1");
  expect(kPlaitRun, "torchrun or plait-run", 1, 2, "0123abc", "");
  expect(kOpenMpi, "Open MPI's mpirun", 1, 2, "905445377", "");
  expect(kMpich, "Hydra (mpirun of MPICH or Intel MPI)", 1, 2, "", "");
  expect({{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"PLAIT_JOB", "j"}}, "RANK and WORLD_SIZE", 0, 3, "j", "");
  expect(kSrun, "Slurm's srun", 1, 2, "1/0", "");
  expect(kPod, "Kubernetes indexed job", 3, 4, "train-0.train", "train-0.train");
}

TEST(Launcher, LocalRankAndSize) {
  auto launch = detect_in(kTorchrun);
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 4);
  EXPECT_EQ(launch->root_source, "MASTER_ADDR");
  EXPECT_EQ(detect_in(kSrun)->local_size, -1);
}

TEST(Launcher, SlurmOnSeveralHostsMeetsOnTheFirst) {
  const Environment spread = kSrun + Environment{{"SLURM_NTASKS", "8"},
                                                 {"SLURM_STEP_NUM_TASKS", "8"},
                                                 {"SLURM_STEP_NUM_NODES", "4"},
                                                 {"SLURM_STEP_NODELIST", "n[01-03,7]x"}};
  expect(spread, "Slurm's srun", 1, 8, "1/0", "n01x");
  expect(spread + Environment{{"MASTER_ADDR", "fd00::1"}}, "Slurm's srun", 1, 8, "1/0", "[fd00::1]");
  expect_error(spread + Environment{{"SLURM_STEP_NODELIST", "n[01-"}}, {"SLURM_STEP_NODELIST", "n[01-"});
}

TEST(Launcher, TheInnermostWins) {
  expect(kSrun + kTorchrun, "torchrun or plait-run", 5, 8, "none/node1/29500/0", "node1");
  expect(kSrun + kPlaitRun, "torchrun or plait-run", 1, 2, "0123abc", "");
  expect(kBatch + kOpenMpi, "Open MPI's mpirun", 1, 2, "905445377", "");
  expect(kBatchStep + kMpich, "Hydra (mpirun of MPICH or Intel MPI)", 1, 2, "", "");
  // Of an outer level: the pod's, say.
  expect(kOpenMpi + Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "Open MPI's mpirun", 1, 2, "905445377",
         "");
  // srun --mpi=pmi2
  expect(kSrun + Environment{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "2.1"}}, "Slurm's srun", 1,
         2, "1/0", "");
  expect(kBatch, "none", 0, 1, "", "");
}

TEST(Launcher, PlaitRootAndPlaitJobOverride) {
  auto launch = detect_in(kTorchrun +
                          Environment{{"PLAIT_ROOT", "10.0.0.1:4000,[fd00::1]:4000"}, {"PLAIT_JOB", "mine"}});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->root, "10.0.0.1:4000,[fd00::1]:4000");
  EXPECT_EQ(launch->root_source, "PLAIT_ROOT");
  EXPECT_EQ(launch->job, "mine");
  EXPECT_EQ(detect_in(kMpich + Environment{{"PLAIT_ROOT", "h:1"}})->job, "h:1");
  expect_error(kTorchrun + Environment{{"PLAIT_ROOT", "10.0.0.1"}}, {"PLAIT_ROOT", "port is missing"});
}

TEST(Launcher, ManyHostsWithoutAnAddressNamePlaitRoot) {
  expect_error(kOpenMpi + Environment{{"OMPI_COMM_WORLD_SIZE", "4"}}, {"PLAIT_ROOT=", "node1:", "Open MPI"});
  expect_error(kMpich + Environment{{"PMI_SIZE", "4"}}, {"PLAIT_ROOT=", "Hydra"});
  expect_error(without(kTorchrun, "MASTER_ADDR"), {"PLAIT_ROOT="});
  expect_error(without(kPod, "MASTER_ADDR"), {"PLAIT_ROOT=", "Kubernetes"});
  // An address, but no name to make the port from.
  expect_error(kMpich + Environment{{"PMI_SIZE", "4"}, {"MASTER_ADDR", "n1"}}, {"PLAIT_JOB"});
  expect_error(kTorchrun + Environment{{"MASTER_ADDR", "localhost"}},
               {"MASTER_ADDR=localhost", "PLAIT_ROOT"});
}

TEST(Launcher, ContradictionsAreNamed) {
  const Environment hand = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"PLAIT_JOB", "j"}};
  // WORLD_SIZE counts hosts.
  expect_error(kTorchrun + Environment{{"WORLD_SIZE", "2"}, {"RANK", "1"}},
               {"WORLD_SIZE=2", "LOCAL_WORLD_SIZE=4", "hosts"});
  expect_error(hand + Environment{{"SLURM_NNODES", "2"}, {"SLURM_NTASKS", "16"}},
               {"WORLD_SIZE=2", "SLURM_NNODES=2", "SLURM_NTASKS=16"});
  expect_error(kSrun + Environment{{"WORLD_SIZE", "1"}}, {"WORLD_SIZE=1", "SLURM_STEP_NUM_TASKS=2"});
  // Out of range.
  expect_error(hand + Environment{{"RANK", "2"}}, {"RANK=2", "WORLD_SIZE=2"});
  expect_error(kTorchrun + Environment{{"LOCAL_RANK", "4"}}, {"LOCAL_RANK=4", "LOCAL_WORLD_SIZE=4"});
  // Half a pair.
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_SIZE", "JOB_COMPLETION_INDEX"})
    expect_error({{name, "1"}}, {name});
  expect_error({{"WORLD_SIZE", "4"}}, {"WORLD_SIZE=4", "RANK"});
  // No numbers.
  for (const char* junk : {"x", "-1", "1.5", "0x1", "99999999999999999999", " 1", "1 "}) {
    expect_error(hand + Environment{{"RANK", junk}}, {"RANK=", junk});
    expect_error(hand + Environment{{"WORLD_SIZE", junk}}, {"WORLD_SIZE=", junk});
  }
  expect_error(hand + Environment{{"WORLD_SIZE", "0"}}, {"WORLD_SIZE=0"});
  expect_error(hand + Environment{{"PLAIT_JOB", std::string(201, 'j')}}, {"PLAIT_JOB"});
}

TEST(Launcher, EmptyIsUnset) { expect({{"RANK", ""}, {"WORLD_SIZE", ""}}, "none", 0, 1, "", ""); }

TEST(Launcher, PortsAreInTheirRange) {
  EXPECT_EQ(root_port(""), 20'000 + 0xcbf29ce484222325ull % 10'000);
  for (int i = 0; i < 1000; i++) {
    const uint16_t port = root_port("job" + std::to_string(i));
    EXPECT_GE(port, 20'000);
    EXPECT_LE(port, 29'999);
  }
}

TEST(HostList, Expands) {
  auto expand = [](std::string_view list, size_t most = 100) {
    auto hosts = expand_hosts(list, most);
    if (!hosts.ok()) return std::string("error");
    std::string text;
    for (const auto& host : *hosts) text += (text.empty() ? "" : " ") + host;
    return text;
  };
  EXPECT_EQ(expand("vm"), "vm");
  EXPECT_EQ(expand("n[01-03,7]x"), "n01x n02x n03x n7x");
  EXPECT_EQ(expand("a,b[2-3],c"), "a b2 b3 c");
  EXPECT_EQ(expand("n[9-11]"), "n9 n10 n11");
  EXPECT_EQ(expand("n[098-101]"), "n098 n099 n100 n101");
  EXPECT_EQ(expand("r[0-1]n[0-2]"), "r0n0 r0n1 r0n2 r1n0 r1n1 r1n2");
  EXPECT_EQ(expand("n[0-999999999]", 2), "n0 n1");
  EXPECT_EQ(expand("r[5-9999999]n[3-9]", 1), "r5n3");
  for (const char* bad :
       {"", ",", "a,,b", "a,", "n[", "n[]", "n[1", "n[1-]", "n[-1]", "n[3-1]", "n[a]", "n]1[", "n[1]]",
        "n[1-2-3]", "n[1,,2]", "n[1 ]", "a b", "n[[1]]", "n[99999999999]"}) {
    EXPECT_EQ(expand(bad), "error") << bad;
  }
}

}  // namespace
}  // namespace plait::bootstrap
