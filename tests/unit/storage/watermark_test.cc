// Proves that the watermark file gives back what was written last, survives a torn or damaged slot
// by falling back to the other, refuses when neither is valid, and that the format is as documented
// in docs/formats/watermark.md (golden bytes). Power loss is in rocks_store_fault_test.cc.

#include "engine/storage/watermark.h"

#include "engine/storage/watermark_codec.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallystick {
namespace {

class WatermarkTest : public testing::Test {
 protected:
  // Opens and expects success; the state is empty when not found.
  WatermarkState Open() {
    watermark_.reset();
    WatermarkState state;
    auto opened = Watermark::Open(nullptr, dir_.path(), &found_, &state);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().ToString());
    if (opened) watermark_ = std::move(*opened);
    return state;
  }
  StatusCode OpenFails() {
    watermark_.reset();
    WatermarkState state;
    const auto opened = Watermark::Open(nullptr, dir_.path(), &found_, &state);
    return opened ? StatusCode::kOk : opened.error().code();
  }
  void Write(uint64_t offset, bool sync = true) {
    WatermarkState state;
    state.database_id_high = 7;
    state.epoch = 3;
    state.durable_offsets = {offset, offset + 1};
    ASSERT_TRUE(watermark_->Write(state, sync).ok());
  }
  // Inverts one byte of the file.
  void Damage(uint64_t position) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(position));
    const char byte = static_cast<char>(~file.get());
    file.seekp(static_cast<std::streamoff>(position));
    file.put(byte);
  }
  std::string path() const { return dir_ / "WATERMARK"; }

  TempDir dir_;
  bool found_ = false;
  std::unique_ptr<Watermark> watermark_;
};

TEST_F(WatermarkTest, NewFileHasNothing) {
  Open();
  EXPECT_FALSE(found_);
  Open();
  EXPECT_FALSE(found_);
}

TEST_F(WatermarkTest, LastWriteIsRead) {
  Open();
  for (uint64_t i = 1; i <= 5; ++i) {
    Write(100 * i, i % 2 == 0);
    const WatermarkState state = Open();
    ASSERT_TRUE(found_);
    EXPECT_EQ(state.durable_offsets, (std::vector<uint64_t>{100 * i, 100 * i + 1}));
    EXPECT_EQ(state.database_id_high, 7u);
    EXPECT_EQ(state.epoch, 3u);
    EXPECT_EQ(state.serial, i);
  }
}

TEST_F(WatermarkTest, TornNewestSlotLeavesTheOlder) {
  Open();
  Write(1);  // second slot
  Write(2);  // first slot
  Damage(40);
  EXPECT_EQ(Open().durable_offsets[0], 1u);
  Write(3);  // replaces the damaged one
  EXPECT_EQ(Open().durable_offsets[0], 3u);
  Damage(kWatermarkSlotStride + 40);
  EXPECT_EQ(Open().durable_offsets[0], 3u);
}

TEST_F(WatermarkTest, TornFirstWriteIsAsNeverWritten) {
  Open();
  Write(1);
  Damage(kWatermarkSlotStride + 40);
  Open();
  EXPECT_FALSE(found_);
}

TEST_F(WatermarkTest, UnsyncedWritesNeverTouchTheSyncedSlot) {
  Open();
  Write(1);         // second slot, synced
  Write(2, false);  // first slot, again and again
  Write(3, false);
  Write(4, false);
  Damage(40);
  EXPECT_EQ(Open().durable_offsets[0], 1u);
}

TEST_F(WatermarkTest, BothSlotsDamagedIsCorruption) {
  Open();
  Write(1);
  Write(2);
  Damage(40);
  Damage(kWatermarkSlotStride + 40);
  EXPECT_EQ(OpenFails(), StatusCode::kCorruption);
  std::filesystem::resize_file(path(), 0);
  EXPECT_EQ(OpenFails(), StatusCode::kCorruption);
}

TEST_F(WatermarkTest, EveryBitIsProtected) {
  WatermarkState state;
  state.serial = 9;
  state.durable_offsets = {1, 2, 3};
  const std::string slot = EncodeWatermarkSlot(state);
  ASSERT_EQ(slot.size(), 4096u);
  const size_t used = 16 + 36 + 3 * 8 + 8;
  for (size_t bit = 0; bit < used * 8; ++bit) {
    std::string damaged = slot;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = DecodeWatermarkSlot(damaged);
    ASSERT_FALSE(decoded) << bit;
    EXPECT_EQ(decoded.error().code(), StatusCode::kCorruption) << bit;
  }
  for (size_t bytes = 0; bytes < used; ++bytes) {
    EXPECT_FALSE(DecodeWatermarkSlot(std::string_view(slot).substr(0, bytes))) << bytes;
  }
  EXPECT_TRUE(DecodeWatermarkSlot(std::string_view(slot).substr(0, used)));
}

TEST_F(WatermarkTest, LargestNumberOfPartitions) {
  WatermarkState state;
  for (uint64_t i = 0; i < kWatermarkPartitionsMax; ++i) state.durable_offsets.push_back(i << 40);
  Open();
  ASSERT_TRUE(watermark_->Write(state, true).ok());
  ASSERT_TRUE(watermark_->Write(state, true).ok());
  EXPECT_EQ(Open().durable_offsets, state.durable_offsets);
}

TEST_F(WatermarkTest, GoldenBytes) {
  WatermarkState state;
  state.database_id_high = 0x0102030405060708;
  state.database_id_low = 0x090a0b0c0d0e0f10;
  state.epoch = 0x11;
  state.serial = 0x12;
  state.durable_offsets = {0x1314};
  const std::string slot = EncodeWatermarkSlot(state);
  const std::string expected_start(
      "TALLYWMK\0\0\0\1\0\0\0\x34"
      "\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
      "\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\x12\0\0\0\1\0\0\0\0\0\0\x13\x14",
      60);
  EXPECT_EQ(slot.substr(0, 60), expected_start);
}

}  // namespace
}  // namespace tallystick
