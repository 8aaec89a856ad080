// Helpers of the tests: sets alike, refusals, MSCCL algorithms.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "collectives/exchange/admit.h"
#include "collectives/exchange/json.h"
#include "collectives/exchange/msccl.h"

namespace plait::collectives::exchange {

inline void expect_alike(const Program& a, const Program& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.scratch, b.scratch);
  EXPECT_EQ(a.wires, b.wires);
  EXPECT_EQ(a.min_credits, b.min_credits);
  EXPECT_EQ(a.in_place, b.in_place);
  EXPECT_EQ(a.rank_order, b.rank_order);
  EXPECT_EQ(a.dep_begin, b.dep_begin);
  EXPECT_EQ(a.deps, b.deps);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); i++)
    EXPECT_EQ(std::memcmp(&a.steps[i], &b.steps[i], sizeof(Step)), 0) << describe(a, uint32_t(i));
}

inline void expect_alike(const ProgramSet& a, const ProgramSet& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.collective, b.collective);
  EXPECT_EQ(a.root, b.root);
  for (bool in_place : {false, true}) {
    ASSERT_EQ(a.programs[in_place].size(), b.programs[in_place].size());
    for (size_t r = 0; r < a.programs[in_place].size(); r++)
      expect_alike(a.programs[in_place][r], b.programs[in_place][r]);
  }
}

// That something was refused, in a sentence that begins with `front` and holds `part`.
template <class T>
void expect_refused(const Result<T>& result, std::string_view front, std::string_view part,
                    Code code = Code::invalid) {
  ASSERT_FALSE(result.ok()) << "not refused; expected: " << part;
  const std::string_view text = result.status().text();
  EXPECT_EQ(text.substr(0, front.size()), front) << text;
  EXPECT_NE(text.find(part), std::string_view::npos) << text << "\nlacks: " << part;
  EXPECT_EQ(result.status().code(), code) << text;
}

// An MSCCL algorithm, written line by line: line 1 is <algo>, and each call is one line.
class Xml {
 public:
  Xml(std::string_view coll, int ranks, int chunks, int in_place = 0, int out_of_place = 1) {
    line("<algo name=\"test\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" + std::to_string(chunks) +
         "\" ngpus=\"" + std::to_string(ranks) + "\" coll=\"" + std::string(coll) + "\" inplace=\"" +
         std::to_string(in_place) + "\" outofplace=\"" + std::to_string(out_of_place) +
         "\" minBytes=\"0\" maxBytes=\"0\">");
  }
  Xml& gpu(int inputs, int outputs, int scratch = 0) {
    end_gpu();
    line("<gpu id=\"" + std::to_string(gpus_++) + "\" i_chunks=\"" + std::to_string(inputs) +
         "\" o_chunks=\"" + std::to_string(outputs) + "\" s_chunks=\"" + std::to_string(scratch) + "\">");
    in_gpu_ = true;
    blocks_ = 0;
    return *this;
  }
  Xml& block(int send, int recv, int channel = 0) {
    end_block();
    line("<tb id=\"" + std::to_string(blocks_++) + "\" send=\"" + std::to_string(send) + "\" recv=\"" +
         std::to_string(recv) + "\" chan=\"" + std::to_string(channel) + "\">");
    in_block_ = true;
    steps_ = 0;
    return *this;
  }
  // Places as "i2", "o0", "s1".
  Xml& step(const std::string& type, const std::string& src, const std::string& dst, int count = 1,
            int wait_block = -1, int wait_step = -1) {
    line("<step s=\"" + std::to_string(steps_++) + "\" type=\"" + type + "\" srcbuf=\"" + src.substr(0, 1) +
         "\" srcoff=\"" + src.substr(1) + "\" dstbuf=\"" + dst.substr(0, 1) + "\" dstoff=\"" + dst.substr(1) +
         "\" cnt=\"" + std::to_string(count) + "\" depid=\"" + std::to_string(wait_block) + "\" deps=\"" +
         std::to_string(wait_step) + "\" hasdep=\"0\"/>");
    return *this;
  }
  std::string text() {
    end_gpu();
    return text_ + "</algo>\n";
  }
  // Of the line written last.
  int lines() const { return lines_; }

  Result<ProgramSet> read(const Limits& limits = {}) { return from_msccl(text(), "a.xml", limits); }

 private:
  void line(const std::string& text) {
    text_ += text + "\n";
    lines_++;
  }
  // Closing tags share the line of what comes next.
  void end_block() {
    if (in_block_) text_ += "</tb>";
    in_block_ = false;
  }
  void end_gpu() {
    end_block();
    if (in_gpu_) text_ += "</gpu>";
    in_gpu_ = false;
  }
  std::string text_;
  int gpus_ = 0, blocks_ = 0, steps_ = 0, lines_ = 0;
  bool in_gpu_ = false, in_block_ = false;
};

inline std::string at(const char* buffer, int offset, int n) {
  return buffer + std::to_string((offset % n + n) % n);
}

// A ring of n ranks, a chunk each; each rank has one thread block.
inline Xml ring_allreduce(int n, int in_place, int out_of_place) {
  Xml xml("allreduce", n, n, in_place, out_of_place);
  for (int r = 0; r < n; r++) {
    xml.gpu(n, n).block((r + 1) % n, (r + n - 1) % n);
    xml.step("s", at("i", r, n), at("i", r, n));
    for (int k = 1; k < n - 1; k++) xml.step("rrs", at("i", r - k, n), at("i", r - k, n));
    xml.step("rrcs", at("i", r + 1, n), at("o", r + 1, n));
    for (int k = 0; k < n - 2; k++) xml.step("rcs", at("o", r - k, n), at("o", r - k, n));
    xml.step("r", at("o", r + 2, n), at("o", r + 2, n));
  }
  return xml;
}

}  // namespace plait::collectives::exchange
