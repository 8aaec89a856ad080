// Each refusal of an MSCCL file, with its line.
#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

// Rank 0 sends its sum to rank 1 and back. Lines: gpu 2, tb 3, steps 4-5; gpu 6, tb 7, steps 8-9.
Xml pair(const std::string& type = "rrc", const std::string& src = "i0", const std::string& dst = "o0",
         int count = 1) {
  Xml xml("allreduce", 2, 1);
  xml.gpu(1, 1, 1).block(1, 1).step(type, src, dst, count).step("s", "o0", "o0");
  xml.gpu(1, 1, 1).block(0, 0).step("s", "i0", "i0").step("r", "o0", "o0");
  return xml;
}

void refused(std::string_view part, std::string_view other, int line, std::string_view why) {
  SCOPED_TRACE(std::string(part) + " -> " + std::string(other));
  std::string text = pair().text();
  const size_t found = text.find(part);
  ASSERT_NE(found, std::string::npos);
  text.replace(found, part.size(), other);
  expect_refused(from_msccl(text, "a.xml"), "a.xml:" + std::to_string(line) + ": ", why);
}

TEST(MscclRefused, NothingOfTheSoundOne) {
  const auto set = pair().read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_TRUE(admit(*set).ok());
}

TEST(MscclRefused, WhatIsNotXml) {
  expect_refused(from_msccl("", "a.xml"), "a.xml:1: ", "not XML: no element found");
  expect_refused(from_msccl("<algo", "a.xml"), "a.xml:1: ", "not XML");
  expect_refused(from_msccl("<a>\n</b>", "a.xml"), "a.xml:1: ", "<a> does not belong here");
  const std::string text = pair().text();
  expect_refused(from_msccl(text.substr(0, text.size() - 8), "a.xml"), "a.xml:10: ", "not XML");
  expect_refused(from_msccl(text + "<algo/>", "a.xml"), "a.xml:11: ", "not XML: junk after document element");
}

TEST(MscclRefused, EntitiesThatExpandWithoutBound) {
  std::string laughs = "<!DOCTYPE lolz [\n<!ENTITY l0 \"lol\">\n";
  for (int i = 1; i < 10; i++) {
    const std::string before = "&l" + std::to_string(i - 1) + ";";
    laughs += "<!ENTITY l" + std::to_string(i) + " \"" + before + before + before + before + before + "\">\n";
  }
  expect_refused(from_msccl(laughs + "]>\n<algo name=\"&l9;\"/>", "a.xml"), "a.xml:1: ", "a document type");
  expect_refused(from_msccl("<!DOCTYPE algo SYSTEM \"file:///etc/passwd\">\n<algo/>", "a.xml"),
                 "a.xml:1: ", "a document type");
  refused("name=\"test\"", "name=\"&passwd;\"", 1, "not XML: undefined entity");
}

TEST(MscclRefused, AnotherStructure) {
  refused("<algo ", "<algorithm ", 1,
          "<algorithm> does not belong here: an algorithm is <algo><gpu><tb><step/>");
  refused("<gpu ", "<copy ", 2, "<copy> does not belong here");
  refused("<step s=\"0\"", "<step><tb/></step><step s=\"0\"", 4, "<step> has no 's'");
  std::string deep;
  for (int i = 0; i < 100000; i++) deep += "<algo>";
  expect_refused(from_msccl(deep, "a.xml"), "a.xml:1: ", "<algo> has no 'name'");
}

TEST(MscclRefused, TheAlgorithm) {
  refused(" ngpus=\"2\"", "", 1, "<algo> has no 'ngpus'");
  refused("ngpus=\"2\"", "ngpus=\"0\"", 1, "ngpus=\"0\" of <algo>: it is a number from 1 to");
  refused("ngpus=\"2\"", "ngpus=\"two\"", 1, "ngpus=\"two\" of <algo>");
  refused("ngpus=\"2\"", "ngpus=\"2x\"", 1, "ngpus=\"2x\" of <algo>");
  refused("ngpus=\"2\"", "ngpus=\"99999999999999999999\"", 1, "it is a number from 1 to");
  refused("nchunksperloop=\"1\"", "nchunksperloop=\"2000000000\"", 1, "it is a number from 1 to");
  refused("inplace=\"0\" outofplace=\"1\"", "inplace=\"0\" outofplace=\"0\"", 1,
          "neither in place nor out of place");
  refused("coll=\"allreduce\"", "coll=\"allgather\"", 1,
          "1 chunks cannot be shared out evenly among the 2 ranks");
  refused("coll=\"allreduce\"", "coll=\"alltoall\"", 1, "an alltoall of 2 ranks has as many chunks");
  std::string text = pair().text();
  text.replace(text.find("allreduce"), 9, "custom");
  expect_refused(from_msccl(text, "a.xml"), "a.xml:1: ", "plait has no collective 'custom'",
                 Code::unsupported);
}

TEST(MscclRefused, GpusAndThreadBlocks) {
  refused("<gpu id=\"0\"", "<gpu id=\"1\"", 2, "id=\"1\" of <gpu> where 0 is due");
  refused("<gpu id=\"1\"", "<gpu id=\"-1\"", 6, "id=\"-1\" of <gpu> where 1 is due");
  refused("s_chunks=\"1\"", "s_chunks=\"-1\"", 2, "s_chunks=\"-1\" of <gpu>");
  refused("<tb id=\"0\"", "<tb id=\"7\"", 3, "id=\"7\" of <tb> where 0 is due");
  refused("send=\"1\"", "send=\"2\"", 3,
          "thread block 0 of rank 0: send=\"2\" of <tb>: it is a number from -1 to 1");
  refused("send=\"1\"", "send=\"0\"", 3, "rank 0 is its own peer");
  refused("chan=\"0\"", "chan=\"65536\"", 3, "chan=\"65536\" of <tb>");
  Xml few("allreduce", 3, 1);
  few.gpu(1, 1).gpu(1, 1);
  expect_refused(few.read(), "a.xml: ", "2 of 3 gpus are there");
  Xml many("allreduce", 1, 1);
  many.gpu(1, 1).gpu(1, 1);
  expect_refused(many.read(), "a.xml:3: ", "a gpu beyond the 1 of ngpus");
  Xml twice("allreduce", 2, 1);
  twice.gpu(1, 1).block(1, -1).block(1, -1);
  twice.gpu(1, 1);
  expect_refused(twice.read(), "a.xml:4: ", "two thread blocks of rank 0 send to rank 1 on channel 0");
}

TEST(MscclRefused, Steps) {
  refused("<step s=\"0\"", "<step s=\"1\"", 4,
          "step 0 of thread block 0 of rank 0: s=\"1\" of <step> where 0 is due");
  refused("type=\"rrc\"", "type=\"rrx\"", 4, "'rrx' is no type of step");
  refused("srcbuf=\"i\"", "srcbuf=\"x\"", 4, "srcbuf=\"x\": a buffer is i, o or s");
  refused("srcoff=\"0\"", "srcoff=\"1\"", 4, "srcoff=\"1\" of <step>: it is a number from 0 to 0");
  refused("cnt=\"1\"", "cnt=\"0\"", 4, "cnt=\"0\" of <step>");
  refused("depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"", 4,
          "waits for step 0 of thread block 3, which rank 0 has not");
  refused("depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"2\"", 4,
          "waits for step 2 of thread block 0, which rank 0 has not");
  refused("recv=\"1\"", "recv=\"-1\"", 4, "a receive in a thread block that has nobody to receive from");
  refused("send=\"1\"", "send=\"-1\"", 5, "a send in a thread block that has nobody to send to");
  Xml xml("allreduce", 2, 4);
  xml.gpu(4, 4, 3).block(1, 1).step("s", "i2", "i2", 3);
  expect_refused(xml.read(), "a.xml:4: ", "src 2+3 is out of bounds: there are 4 slots");
  Xml scratch("allreduce", 2, 4);
  scratch.gpu(4, 4, 3).block(1, 1).step("r", "i2", "s1", 3);
  expect_refused(scratch.read(), "a.xml:4: ", "dst 1+3 is out of bounds: there are 3 slots");
}

TEST(MscclRefused, ValuesThatAreNotThere) {
  expect_refused(pair("rrc", "s0").read(),
                 "a.xml:4: ", "step 0 of thread block 0 of rank 0: reads scratch[0], where nothing lies yet");
  expect_refused(pair("r", "i0", "s0").read(), "a.xml:5: ", "reads output[0], where nothing lies yet");
  Xml other("allreduce", 2, 2);
  other.gpu(2, 2).block(-1, 1).step("rrc", "i0", "o0");
  other.gpu(2, 2).block(0, -1).step("s", "i1", "i1");
  expect_refused(other.read(), "a.xml:4: ", "folds chunk 1 into chunk 0");
  Xml again("allreduce", 2, 1);
  again.gpu(1, 1, 1).block(-1, -1).step("cpy", "i0", "o0").step("re", "i0", "o0").step("re", "i0", "o0");
  again.gpu(1, 1);
  expect_refused(again.read(), "a.xml:6: ", "folds contributions to chunk 0 twice");
  Xml shifted("allreduce", 2, 3);
  shifted.gpu(3, 3).block(-1, -1).step("cpy", "i0", "o0", 3).step("cpy", "o0", "o1", 2);
  shifted.gpu(3, 3);
  expect_refused(shifted.read(), "a.xml:5: ", "src and dst overlap, and are not the same");
}

TEST(MscclRefused, MessagesThatDoNotMeet) {
  Xml count("allreduce", 2, 2);
  count.gpu(2, 2).block(-1, 1).step("r", "o0", "o0", 2);
  count.gpu(2, 2).block(0, -1).step("s", "i0", "i0", 1);
  expect_refused(count.read(),
                 "a.xml:4: ", "receives 2 chunks, but step 0 of thread block 0 of rank 1 sends 1");
  Xml nobody("allreduce", 2, 1);
  nobody.gpu(1, 1).block(1, -1).step("s", "i0", "i0").step("cpy", "i0", "o0");
  nobody.gpu(1, 1);
  expect_refused(nobody.read(),
                 "a.xml:4: ", "step 0 of thread block 0 of rank 0: nobody receives what it sends");
  Xml channels("allreduce", 2, 1);
  channels.gpu(1, 1).block(-1, 1, 1).step("r", "o0", "o0");
  channels.gpu(1, 1).block(0, -1, 2).step("s", "i0", "i0");
  expect_refused(channels.read(), "a.xml:4: ", "waits for ever for a message from rank 1 on channel 1");
}

TEST(MscclRefused, Circles) {
  Xml xml("allreduce", 1, 1);
  xml.gpu(1, 1, 2).block(-1, -1).step("cpy", "i0", "o0", 1, 1, 0);
  xml.block(-1, -1).step("cpy", "i0", "s0", 1, 0, 0);
  expect_refused(xml.read(), "a.xml:4: ", "waits for ever for step 0 of thread block 1");
  // A step of its own thread block, not done yet.
  Xml own("allreduce", 1, 1);
  own.gpu(1, 1).block(-1, -1).step("cpy", "i0", "o0", 1, 0, 0);
  expect_refused(own.read(), "a.xml:4: ", "waits for ever for step 0 of thread block 0");
  Xml messages("allreduce", 2, 1);
  for (int r = 0; r < 2; r++)
    messages.gpu(1, 1).block(1 - r, 1 - r).step("rrc", "i0", "o0").step("s", "i0", "i0");
  expect_refused(messages.read(), "a.xml:4: ", "waits for ever for a message from rank 1 on channel 0");
}

// Two thread blocks touch one place and neither waits for the other.
TEST(MscclRefused, Races) {
  auto racing = [](int wait_block, int wait_step) {
    Xml xml("allreduce", 1, 1);
    xml.gpu(1, 1, 2).block(-1, -1).step("cpy", "i0", "s0").step("cpy", "s0", "o0");
    xml.block(-1, -1).step("nop", "i-1", "o-1", 0, wait_block, wait_step).step("cpy", "i0", "s0");
    return xml.read();
  };
  EXPECT_TRUE(racing(0, 1).ok()) << racing(0, 1).status().text();
  expect_refused(racing(0, 0), "a.xml:", "does not wait for it");
  expect_refused(racing(-1, -1), "a.xml:", "of thread block 0");
  // A write after a read.
  Xml read("allreduce", 1, 1);
  read.gpu(1, 1, 2).block(-1, -1).step("cpy", "i0", "s0").step("cpy", "s0", "o0").step("cpy", "s0", "s1");
  read.block(-1, -1).step("cpy", "i0", "s0", 1, 0, 1);
  expect_refused(read.read(), "a.xml:", "does not wait for it");
}

TEST(MscclRefused, BeyondTheLimits) {
  auto limited = [](const Limits& limits) { return pair().read(limits); };
  EXPECT_TRUE(
      limited(
          {.ranks = 2, .chunks = 1, .scratch = 1, .steps = 8, .cells = 6, .touches = 16, .thread_blocks = 2})
          .ok());
  expect_refused(limited({.ranks = 1}), "a.xml:1: ", "it is a number from 1 to 1");
  expect_refused(limited({.scratch = 0}), "a.xml:2: ", "s_chunks=\"1\"");
  expect_refused(limited({.steps = 7}), "a.xml:9: ", "more than 7 steps in all");
  expect_refused(limited({.cells = 5}), "a.xml:6: ", "more than 5 places in all");
  expect_refused(limited({.touches = 15}), "a.xml:9: ", "touch more than 15 places");
  expect_refused(limited({.thread_blocks = 1}), "a.xml:7: ", "more than 1 thread blocks in all");
  // What the import adds counts as well.
  expect_refused(ring_allreduce(4, 0, 1).read({.cells = 33}), "a.xml: ", "more than 33 places in all");
}

}  // namespace
}  // namespace plait::collectives::exchange
