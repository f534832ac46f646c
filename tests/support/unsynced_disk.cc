#include "tests/support/unsynced_disk.h"

#include "engine/base/assert.h"
#include "tests/support/torn_file.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

namespace tallystick {
namespace {

namespace fs = std::filesystem;

std::string DirectoryOf(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// Puts changes that touch a common name into one group: a file system orders those.
std::vector<size_t> GroupsOf(const std::vector<std::vector<std::string>>& names_of) {
  std::vector<size_t> group(names_of.size());
  std::iota(group.begin(), group.end(), size_t{0});
  std::map<std::string, size_t> owner;
  for (size_t i = 0; i < names_of.size(); ++i) {
    for (const std::string& name : names_of[i]) {
      const auto [it, added] = owner.emplace(name, group[i]);
      if (added || it->second == group[i]) continue;
      const size_t merged = group[i], into = it->second;
      std::replace(group.begin(), group.end(), merged, into);
      for (auto& [unused, g] : owner) {
        if (g == merged) g = into;
      }
    }
  }
  return group;
}

}  // namespace

UnsyncedDisk::UnsyncedDisk(const std::string& base_dir)
    : base_dir_(base_dir), aside_dir_(base_dir + ".set_aside") {
  fs::create_directories(aside_dir_);
}

UnsyncedDisk::~UnsyncedDisk() {
  std::error_code ignored;
  fs::remove_all(aside_dir_, ignored);
}

bool UnsyncedDisk::Covers(const std::string& path) const {
  return path.compare(0, base_dir_.size(), base_dir_) == 0 &&
         (path.size() == base_dir_.size() || path[base_dir_.size()] == '/');
}

std::shared_ptr<UnsyncedDisk::File> UnsyncedDisk::Open(const std::string& path) {
  auto& file = files_[path];
  if (file == nullptr) {
    file = std::make_shared<File>();
    std::error_code error;
    const uintmax_t bytes = fs::file_size(path, error);
    file->bytes = file->durable_bytes = error ? 0 : bytes;
  }
  return file;
}

std::shared_ptr<UnsyncedDisk::File> UnsyncedDisk::Create(const std::string& path) {
  changes_.push_back({Change::Kind::kCreate, path, "", SetAside(path)});
  return files_[path] = std::make_shared<File>();
}

std::error_code UnsyncedDisk::Delete(const std::string& path) {
  if (!fs::exists(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
  changes_.push_back({Change::Kind::kDelete, path, "", SetAside(path)});
  return {};
}

std::error_code UnsyncedDisk::Rename(const std::string& from, const std::string& to) {
  if (!fs::exists(from)) return std::make_error_code(std::errc::no_such_file_or_directory);
  changes_.push_back({Change::Kind::kRename, from, to, SetAside(to)});
  Move(from, to);
  return {};
}

std::error_code UnsyncedDisk::Link(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) return error;
  files_[to] = Open(from);
  changes_.push_back({Change::Kind::kCreate, to, "", ""});
  return {};
}

void UnsyncedDisk::MadeDirectory(const std::string& path) {
  changes_.push_back({Change::Kind::kMakeDirectory, path, "", ""});
}

void UnsyncedDisk::Sync(File* file) const {
  file->durable_bytes = file->bytes;
  file->overwrites.clear();
}

void UnsyncedDisk::FailSync(File* file) const {
  if (file->bytes > file->durable_bytes) {
    file->vanished.push_back({file->durable_bytes, file->bytes});
  }
}

void UnsyncedDisk::SyncDirectory(const std::string& dir) {
  std::vector<Change> rest;
  for (Change& change : changes_) {
    const std::string& name = change.kind == Change::Kind::kRename ? change.target : change.path;
    if (DirectoryOf(name) != dir) {
      rest.push_back(std::move(change));
    } else if (!change.saved.empty()) {
      fs::remove(change.saved);
      files_.erase(change.saved);
    }
  }
  changes_ = std::move(rest);
}

void UnsyncedDisk::PowerLoss(uint64_t seed, const TailFate* fate) {
  std::mt19937_64 random(seed);
  UndoSomeChanges(&random);
  std::set<const File*> torn;  // a file with two names is torn once
  for (const auto& [path, file] : files_) {
    if (fs::is_regular_file(path) && torn.insert(file.get()).second) {
      TearFile(path, *file, &random, fate);
    }
  }
  files_.clear();
  fs::remove_all(aside_dir_);
  fs::create_directories(aside_dir_);
}

uint64_t UnsyncedDisk::unsynced_bytes() const {
  uint64_t sum = 0;
  for (const auto& [path, file] : files_) sum += file->bytes - file->durable_bytes;
  return sum;
}

std::string UnsyncedDisk::SetAside(const std::string& path) {
  if (!fs::exists(path)) return "";
  const std::string saved = aside_dir_ + "/" + std::to_string(set_aside_++);
  Move(path, saved);
  return saved;
}

void UnsyncedDisk::Move(const std::string& from, const std::string& to) {
  fs::rename(from, to);
  const auto state = files_.extract(from);
  files_.erase(to);
  if (!state.empty()) files_[to] = state.mapped();
}

void UnsyncedDisk::Undo(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kCreate:
      fs::remove(change.path);
      files_.erase(change.path);
      break;
    case Change::Kind::kMakeDirectory:
      fs::remove_all(change.path);
      break;
    case Change::Kind::kRename:
      Move(change.target, change.path);
      break;
    case Change::Kind::kDelete:
      break;
  }
  if (change.saved.empty()) return;
  Move(change.saved, change.kind == Change::Kind::kRename ? change.target : change.path);
}

void UnsyncedDisk::UndoSomeChanges(std::mt19937_64* random) {
  std::vector<std::vector<std::string>> names;
  for (const Change& change : changes_) names.push_back({change.path, change.target});
  for (auto& pair : names) pair.erase(std::remove(pair.begin(), pair.end(), ""), pair.end());
  const std::vector<size_t> groups = GroupsOf(names);

  std::map<size_t, uint64_t> kept;  // of each group, how many of its first changes survive
  for (const size_t group : groups) ++kept[group];
  for (auto& [unused, count] : kept) count = (*random)() % (count + 1);

  std::vector<const Change*> undone;
  for (size_t i = 0; i < changes_.size(); ++i) {
    uint64_t& left = kept[groups[i]];
    if (left > 0) {
      --left;
    } else {
      undone.push_back(&changes_[i]);
    }
  }
  for (auto it = undone.rbegin(); it != undone.rend(); ++it) Undo(**it);
  changes_.clear();
}

}  // namespace tallystick
