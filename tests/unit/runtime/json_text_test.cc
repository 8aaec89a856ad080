#include "runtime/json_text.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"

namespace plait::runtime {
namespace {

// What `write` writes.
template <class Write>
std::string text_of(Write write) {
  Fd file(memfd_create("json", MFD_CLOEXEC));
  JsonText out(file.get());
  write(out);
  EXPECT_EQ(out.finish(), 0);
  std::string text(size_t(lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(file.get(), text.data(), text.size(), 0), ssize_t(text.size()));
  return text;
}

std::string json_string(std::string_view text) {
  return text_of([&](JsonText& out) { out.quoted(text); });
}

TEST(JsonText, WritesNumbersOfAnySize) {
  auto number = [](auto value) { return text_of([&](JsonText& out) { out.number(value); }); };
  for (uint64_t n : {uint64_t(0), uint64_t(9), uint64_t(10), uint64_t(1) << 32, UINT64_MAX})
    EXPECT_EQ(number(n), std::to_string(n));
  for (int64_t n : {int64_t(0), int64_t(-1), INT64_MAX, INT64_MIN}) EXPECT_EQ(number(n), std::to_string(n));
  EXPECT_EQ(number(INT32_MIN), "-2147483648");
}

TEST(JsonText, EscapesWhatJsonDemands) {
  EXPECT_EQ(json_string(""), R"("")");
  EXPECT_EQ(json_string("a \"b\" \\ c"), R"("a \"b\" \\ c")");
  EXPECT_EQ(json_string(std::string_view("\n\x01\0\x1f\x7f", 5)), "\"\\u000a\\u0001\\u0000\\u001f\x7f\"");
  EXPECT_EQ(json_string("Größe €𝄞"), "\"Größe €𝄞\"");
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_string("\xff"
                        "a\xc3"),
            "\"?a?\"");
  EXPECT_EQ(json_string("\xe2\x82"), "\"??\"") << "cut in the middle";
  EXPECT_EQ(json_string("\xc0\x80"), "\"??\"") << "longer than need be";
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"???\"") << "half of a pair";
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"????\"") << "beyond the last character";
}

TEST(JsonText, WhateverTheBytesTheResultIsJson) {
  std::string bytes;
  for (int i = 0; i < 100'000; i++) bytes += char(i * 7919 >> (i % 5));
  const auto parsed = nlohmann::json::parse(json_string(bytes), nullptr, false);
  EXPECT_TRUE(parsed.is_string());
}

TEST(JsonText, KeepsWhatIsLongerThanItsBuffer) {
  const std::string text(5000, 'x');
  EXPECT_EQ(text_of([&](JsonText& out) { out.raw(text).number(7u); }), text + "7");
}

TEST(JsonText, SaysWhyItCannotWrite) {
  JsonText out(-1);
  EXPECT_EQ(out.raw("x").finish(), EBADF);
}

}  // namespace
}  // namespace plait::runtime
