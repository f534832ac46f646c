// A stand-in for the storage of one fact set: its header and its chunk records, written by
// snapshots and read back chunk by chunk, so that tests can put a set on disk and find it there
// again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/facts/fact_set.h"

namespace tallystick {

class SetStore {
 public:
  // Writes what changed, deletes what is stale, replaces the header.
  void Snapshot(FactSet* set) {
    std::vector<uint64_t> changed;
    std::vector<uint64_t> stale;
    set->TakePending(&changed, &stale);
    for (const uint64_t chunk : stale) {
      EXPECT_EQ(chunks_.erase(chunk), 1u) << "stale chunk " << chunk << " was never written";
    }
    for (const uint64_t chunk : changed) {
      std::string image;
      set->EncodeChunk(chunk, &image);
      EXPECT_LE(image.size(), 4097u);
      chunks_[chunk] = image;
    }
    header_.clear();
    set->EncodeHeader(&header_);
  }

  // The set as the last snapshot left it, all its chunks absent.
  FactSet Load() const {
    FactSet set;
    EXPECT_TRUE(FactSet::DecodeHeader(header_, &set));
    for (const auto& [chunk, image] : chunks_) {
      EXPECT_TRUE(set.IsAbsent(chunk)) << "record of chunk " << chunk << " is in no directory";
    }
    EXPECT_EQ(set.shape().absent, chunks_.size());
    return set;
  }

  // Brings what range needs.
  void Bring(UidRange range, FactSet* set) const {
    while (const auto chunk = set->FirstAbsent(range)) {
      if (!Install(*chunk, set)) return;
    }
  }
  // Brings what counting in range needs.
  void BringPartly(UidRange range, FactSet* set) const {
    while (const auto chunk = set->FirstAbsentPartly(range)) {
      if (!Install(*chunk, set)) return;
    }
  }

 private:
  bool Install(uint64_t chunk, FactSet* set) const {
    const auto found = chunks_.find(chunk);
    const bool installed = found != chunks_.end() && set->InstallChunk(chunk, found->second);
    EXPECT_TRUE(installed && !set->IsAbsent(chunk)) << "chunk " << chunk;
    return installed;
  }

  std::string header_;
  std::map<uint64_t, std::string> chunks_;
};

}  // namespace tallystick
