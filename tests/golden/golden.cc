#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tallystick::golden {
namespace {

std::filesystem::path SourceRoot() {
  const char* root = std::getenv("TALLYSTICK_SOURCE_ROOT");
  return root != nullptr ? root : ".";
}

}  // namespace

std::string Read(const std::string& name, std::string_view written_now) {
  const std::filesystem::path path = SourceRoot() / "tests/golden/records" / (name + ".bin");
  if (!std::filesystem::exists(path) && std::getenv("TALLYSTICK_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary)
        .write(written_now.data(), static_cast<std::streamsize>(written_now.size()));
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string Example(const std::string& document, const std::string& name) {
  std::ifstream file(SourceRoot() / "docs/formats" / document);
  EXPECT_TRUE(file.is_open()) << document;
  std::string line;
  while (std::getline(file, line) && line != "```hex " + name) {
  }
  EXPECT_TRUE(file.good()) << document << " has no example " << name;
  std::string bytes;
  while (std::getline(file, line) && line != "```") {
    std::string digits;
    for (const char c : line.substr(0, line.find('#'))) {
      if (c != ' ') digits += c;
    }
    EXPECT_EQ(digits.size() % 2, 0u) << line;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
  }
  return bytes;
}

}  // namespace tallystick::golden
