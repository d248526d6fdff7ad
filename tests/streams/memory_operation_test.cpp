// cuStreamWaitValue, cuStreamWriteValue and their batches.
#include "fixture.h"

namespace {

class MemoryOperationTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&words), 64, 0));
    for (int i = 0; i < 8; ++i) words[i] = 0;
    address = reinterpret_cast<CUdeviceptr>(words);
  }
  void TearDown() override {
    EXPECT_OK(cuMemFreeHost(words));
    StreamTest::TearDown();
  }
  uint64_t load(int i) { return __atomic_load_n(&words[i], __ATOMIC_ACQUIRE); }
  void store(int i, uint64_t value) { __atomic_store_n(&words[i], value, __ATOMIC_RELEASE); }

  uint64_t* words = nullptr;
  CUdeviceptr address = 0;
};

TEST_F(MemoryOperationTest, WritesHappenInStreamOrder) {
  CUstream stream = create();
  {
    Gate gate(stream);
    EXPECT_OK(cuStreamWriteValue32(stream, address, 7, 0));
    EXPECT_OK(cuStreamWriteValue64(stream, address + 8, ~0ull, 0));
    EXPECT_EQ(cuStreamWriteValue64(stream, address + 8, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER),
              CUDA_ERROR_INVALID_VALUE);
    settle();
    EXPECT_EQ(load(0), 0u);
  }
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(load(0), 7u);
  EXPECT_EQ(load(1), ~0ull);
}

TEST_F(MemoryOperationTest, AWaitEndsWhenItsConditionHolds) {
  struct Case {
    unsigned flags;
    uint64_t wanted, early, late;
  };
  const Case cases[] = {{CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
                        {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 9},
                        {CU_STREAM_WAIT_VALUE_AND, 6, 9, 2},
                        {CU_STREAM_WAIT_VALUE_NOR, 0xFFFFFFFF'FFFFFFF0, 0xF, 0x7}};
  for (const Case& c : cases) {
    for (bool wide : {false, true}) {
      store(0, c.early);
      CUstream stream = create();
      if (wide) {
        ASSERT_OK(cuStreamWaitValue64(stream, address, c.wanted, c.flags));
      } else {
        ASSERT_OK(cuStreamWaitValue32(stream, address, static_cast<cuuint32_t>(c.wanted), c.flags));
      }
      Mark mark(stream);
      settle();
      EXPECT_FALSE(mark.passed()) << c.flags;
      store(0, c.late);
      EXPECT_OK(cuStreamSynchronize(stream));
      EXPECT_TRUE(mark.passed());
    }
  }
}

TEST_F(MemoryOperationTest, GreaterOrEqualIsCyclic) {
  CUstream stream = create();
  store(0, 2);
  EXPECT_OK(cuStreamWaitValue32(stream, address, 0xFFFFFFF0u, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_OK(cuStreamSynchronize(stream));
}

TEST_F(MemoryOperationTest, StreamsHandOverThroughMemory) {
  CUstream one = create(), two = create();
  for (uint32_t i = 1; i <= 50; ++i) {
    EXPECT_OK(cuStreamWaitValue32(two, address, i, CU_STREAM_WAIT_VALUE_GEQ));
    EXPECT_OK(cuStreamWriteValue32(two, address + 8, i, 0));
    EXPECT_OK(cuStreamWriteValue32(one, address, i, 0));
    EXPECT_OK(cuStreamWaitValue32(one, address + 8, i, CU_STREAM_WAIT_VALUE_GEQ));
  }
  EXPECT_OK(cuStreamSynchronize(one));
  EXPECT_OK(cuStreamSynchronize(two));
}

TEST_F(MemoryOperationTest, ABatchRunsInOrder) {
  CUstreamBatchMemOpParams batch[4] = {};
  batch[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address, {1}, 0, 0};
  batch[1].operation = CU_STREAM_MEM_OP_BARRIER;
  batch[2].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, address, {1}, CU_STREAM_WAIT_VALUE_EQ, 0};
  batch[3].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address + 16, {3}, 0, 0};
  CUstream stream = create();
  EXPECT_OK(cuStreamBatchMemOp(stream, 4, batch, 0));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(load(2), 3u);
}

TEST_F(MemoryOperationTest, BadArgumentsAreRefusedAndNothingHappens) {
  CUstream stream = create();
  uint64_t pageable = 0;
  EXPECT_EQ(cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(&pageable), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(stream, address + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue64(stream, address + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(stream, address, 1, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32(stream, address, 1, 8), CUDA_ERROR_INVALID_VALUE);
  CUstreamBatchMemOpParams batch[2] = {};
  batch[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address, {9}, 0, 0};
  batch[1].operation = static_cast<CUstreamBatchMemOpType>(77);
  EXPECT_EQ(cuStreamBatchMemOp(stream, 2, batch, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp(stream, 1, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp(stream, 1, batch, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(load(0), 0u);
}

}  // namespace
