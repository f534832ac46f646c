// Proves that a fuzz target holds for its corpus and its neighbourhood, with any compiler.
// How: runs LLVMFuzzerTestOneInput on no bytes, on each corpus file, and on seeded mutations of
// each: bits flipped, bytes overwritten, ends cut, pieces doubled, two inputs joined. A target
// fails by ending the process.
//
//   NAME_fuzz CORPUS_FOLDER     (need not exist: then random bytes are the seed inputs)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutationsInAll = 20000;
constexpr int kRandomInputs = 16;
constexpr size_t kRandomInputBytesMax = 256;

using Bytes = std::vector<uint8_t>;

void Run(const Bytes& input) {
  // A copy of exactly this size lets AddressSanitizer see the first byte read beyond it.
  const Bytes exact(input.begin(), input.end());
  (void)LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::vector<Bytes> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random_() % limit); }

  Bytes RandomInput() {
    Bytes input(Below(kRandomInputBytesMax));
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random_());
    return input;
  }

  Bytes Mutate(Bytes input, const Bytes& other) {
    for (size_t rounds = 1 + Below(4); rounds > 0; --rounds) MutateOnce(&input, other);
    return input;
  }

 private:
  void MutateOnce(Bytes* input, const Bytes& other) {
    const size_t at = Below(input->size());
    const auto place = input->begin() + static_cast<std::ptrdiff_t>(at);
    switch (Below(6)) {
      case 0:
        if (!input->empty()) *place ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 1:
        if (!input->empty()) *place = kEdges[Below(std::size(kEdges))];
        break;
      case 2:
        input->resize(at);
        break;
      case 3:
        input->erase(input->begin(), place);
        break;
      case 4: {
        const Bytes piece(place, std::min(place + 16, input->end()));
        input->insert(place, piece.begin(), piece.end());
        break;
      }
      default:
        input->insert(input->end(), other.begin(), other.end());
        break;
    }
  }

  static constexpr uint8_t kEdges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '\r', '\n', '$', '*', '-'};
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const char* given = std::getenv("TALLYSTICK_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("TALLYSTICK_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);

  Mutator mutator(seed);
  std::vector<Bytes> inputs = ReadCorpus(argv[1]);
  const size_t from_corpus = inputs.size();
  while (inputs.size() < from_corpus + kRandomInputs) inputs.push_back(mutator.RandomInput());

  Run({});
  for (const Bytes& input : inputs) Run(input);
  for (int i = 0; i < kMutationsInAll; ++i) {
    const Bytes& input = inputs[static_cast<size_t>(i) % inputs.size()];
    Run(mutator.Mutate(input, inputs[mutator.Below(inputs.size())]));
  }
  std::printf("%zu corpus files, %d mutations\n", from_corpus, kMutationsInAll);
  return 0;
}
