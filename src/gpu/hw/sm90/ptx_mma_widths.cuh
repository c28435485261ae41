// SPDX-License-Identifier: Apache-2.0
// wgmma in its 32 widths. An asm string cannot be computed, so every width spells its accumulators:
// a list of their numbers and a list of their bindings, each four longer than the one before.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

#define THRESHER_D4 "%0,%1,%2,%3"
#define THRESHER_D8 THRESHER_D4 ",%4,%5,%6,%7"
#define THRESHER_D12 THRESHER_D8 ",%8,%9,%10,%11"
#define THRESHER_D16 THRESHER_D12 ",%12,%13,%14,%15"
#define THRESHER_D20 THRESHER_D16 ",%16,%17,%18,%19"
#define THRESHER_D24 THRESHER_D20 ",%20,%21,%22,%23"
#define THRESHER_D28 THRESHER_D24 ",%24,%25,%26,%27"
#define THRESHER_D32 THRESHER_D28 ",%28,%29,%30,%31"
#define THRESHER_D36 THRESHER_D32 ",%32,%33,%34,%35"
#define THRESHER_D40 THRESHER_D36 ",%36,%37,%38,%39"
#define THRESHER_D44 THRESHER_D40 ",%40,%41,%42,%43"
#define THRESHER_D48 THRESHER_D44 ",%44,%45,%46,%47"
#define THRESHER_D52 THRESHER_D48 ",%48,%49,%50,%51"
#define THRESHER_D56 THRESHER_D52 ",%52,%53,%54,%55"
#define THRESHER_D60 THRESHER_D56 ",%56,%57,%58,%59"
#define THRESHER_D64 THRESHER_D60 ",%60,%61,%62,%63"
#define THRESHER_D68 THRESHER_D64 ",%64,%65,%66,%67"
#define THRESHER_D72 THRESHER_D68 ",%68,%69,%70,%71"
#define THRESHER_D76 THRESHER_D72 ",%72,%73,%74,%75"
#define THRESHER_D80 THRESHER_D76 ",%76,%77,%78,%79"
#define THRESHER_D84 THRESHER_D80 ",%80,%81,%82,%83"
#define THRESHER_D88 THRESHER_D84 ",%84,%85,%86,%87"
#define THRESHER_D92 THRESHER_D88 ",%88,%89,%90,%91"
#define THRESHER_D96 THRESHER_D92 ",%92,%93,%94,%95"
#define THRESHER_D100 THRESHER_D96 ",%96,%97,%98,%99"
#define THRESHER_D104 THRESHER_D100 ",%100,%101,%102,%103"
#define THRESHER_D108 THRESHER_D104 ",%104,%105,%106,%107"
#define THRESHER_D112 THRESHER_D108 ",%108,%109,%110,%111"
#define THRESHER_D116 THRESHER_D112 ",%112,%113,%114,%115"
#define THRESHER_D120 THRESHER_D116 ",%116,%117,%118,%119"
#define THRESHER_D124 THRESHER_D120 ",%120,%121,%122,%123"
#define THRESHER_D128 THRESHER_D124 ",%124,%125,%126,%127"

#define THRESHER_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define THRESHER_BIND4 THRESHER_FOUR(0)
#define THRESHER_BIND8 THRESHER_BIND4, THRESHER_FOUR(4)
#define THRESHER_BIND12 THRESHER_BIND8, THRESHER_FOUR(8)
#define THRESHER_BIND16 THRESHER_BIND12, THRESHER_FOUR(12)
#define THRESHER_BIND20 THRESHER_BIND16, THRESHER_FOUR(16)
#define THRESHER_BIND24 THRESHER_BIND20, THRESHER_FOUR(20)
#define THRESHER_BIND28 THRESHER_BIND24, THRESHER_FOUR(24)
#define THRESHER_BIND32 THRESHER_BIND28, THRESHER_FOUR(28)
#define THRESHER_BIND36 THRESHER_BIND32, THRESHER_FOUR(32)
#define THRESHER_BIND40 THRESHER_BIND36, THRESHER_FOUR(36)
#define THRESHER_BIND44 THRESHER_BIND40, THRESHER_FOUR(40)
#define THRESHER_BIND48 THRESHER_BIND44, THRESHER_FOUR(44)
#define THRESHER_BIND52 THRESHER_BIND48, THRESHER_FOUR(48)
#define THRESHER_BIND56 THRESHER_BIND52, THRESHER_FOUR(52)
#define THRESHER_BIND60 THRESHER_BIND56, THRESHER_FOUR(56)
#define THRESHER_BIND64 THRESHER_BIND60, THRESHER_FOUR(60)
#define THRESHER_BIND68 THRESHER_BIND64, THRESHER_FOUR(64)
#define THRESHER_BIND72 THRESHER_BIND68, THRESHER_FOUR(68)
#define THRESHER_BIND76 THRESHER_BIND72, THRESHER_FOUR(72)
#define THRESHER_BIND80 THRESHER_BIND76, THRESHER_FOUR(76)
#define THRESHER_BIND84 THRESHER_BIND80, THRESHER_FOUR(80)
#define THRESHER_BIND88 THRESHER_BIND84, THRESHER_FOUR(84)
#define THRESHER_BIND92 THRESHER_BIND88, THRESHER_FOUR(88)
#define THRESHER_BIND96 THRESHER_BIND92, THRESHER_FOUR(92)
#define THRESHER_BIND100 THRESHER_BIND96, THRESHER_FOUR(96)
#define THRESHER_BIND104 THRESHER_BIND100, THRESHER_FOUR(100)
#define THRESHER_BIND108 THRESHER_BIND104, THRESHER_FOUR(104)
#define THRESHER_BIND112 THRESHER_BIND108, THRESHER_FOUR(108)
#define THRESHER_BIND116 THRESHER_BIND112, THRESHER_FOUR(112)
#define THRESHER_BIND120 THRESHER_BIND116, THRESHER_FOUR(116)
#define THRESHER_BIND124 THRESHER_BIND120, THRESHER_FOUR(120)
#define THRESHER_BIND128 THRESHER_BIND124, THRESHER_FOUR(124)

// The operands end in "p,1,1,0": add to the sums where p, negate nothing, B (and A) K-major.
#define THRESHER_MMA_ASM(columns, type, sums, operands, add_number, ...)             \
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %" #add_number                      \
               ", 0;\n"                                                              \
               "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type \
               " {" THRESHER_D##sums "}, " operands ";\n}"                           \
               : THRESHER_BIND##sums                                                 \
               : __VA_ARGS__)
#define THRESHER_MMA_REGISTERS(type, columns, sums, i1, i2, i3, i4, i5)                       \
  THRESHER_MMA_ASM(columns, type, sums,                                                       \
                   "{%" #sums ",%" #i1 ",%" #i2 ",%" #i3 "},%" #i4 ",p,1,1,0", i5, "r"(a[0]), \
                   "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))
#define THRESHER_MMA_SHARED(type, columns, sums, i1, i2)                                     \
  THRESHER_MMA_ASM(columns, type, sums, "%" #sums ",%" #i1 ",p,1,1,0,0", i2, "l"(a), "l"(b), \
                   "r"(add))

template <int kColumns, Operand kOperand>
struct MmaInstruction;

// One width: `sums` accumulators hold the numbers below `sums`; i1.. are those after it.
#define THRESHER_MMA(columns, sums, i1, i2, i3, i4, i5)                                      \
  template <>                                                                                \
  struct MmaInstruction<columns, Operand::kFp16> {                                           \
    static THRESHER_DEVICE void issue(float (&d)[sums], const u32 (&a)[4], u64 b, u32 add) { \
      THRESHER_MMA_REGISTERS("f16", columns, sums, i1, i2, i3, i4, i5);                      \
    }                                                                                        \
    static THRESHER_DEVICE void issue(float (&d)[sums], u64 a, u64 b, u32 add) {             \
      THRESHER_MMA_SHARED("f16", columns, sums, i1, i2);                                     \
    }                                                                                        \
  };                                                                                         \
  template <>                                                                                \
  struct MmaInstruction<columns, Operand::kBf16> {                                           \
    static THRESHER_DEVICE void issue(float (&d)[sums], const u32 (&a)[4], u64 b, u32 add) { \
      THRESHER_MMA_REGISTERS("bf16", columns, sums, i1, i2, i3, i4, i5);                     \
    }                                                                                        \
    static THRESHER_DEVICE void issue(float (&d)[sums], u64 a, u64 b, u32 add) {             \
      THRESHER_MMA_SHARED("bf16", columns, sums, i1, i2);                                    \
    }                                                                                        \
  };

THRESHER_MMA(8, 4, 5, 6, 7, 8, 9)
THRESHER_MMA(16, 8, 9, 10, 11, 12, 13)
THRESHER_MMA(24, 12, 13, 14, 15, 16, 17)
THRESHER_MMA(32, 16, 17, 18, 19, 20, 21)
THRESHER_MMA(40, 20, 21, 22, 23, 24, 25)
THRESHER_MMA(48, 24, 25, 26, 27, 28, 29)
THRESHER_MMA(56, 28, 29, 30, 31, 32, 33)
THRESHER_MMA(64, 32, 33, 34, 35, 36, 37)
THRESHER_MMA(72, 36, 37, 38, 39, 40, 41)
THRESHER_MMA(80, 40, 41, 42, 43, 44, 45)
THRESHER_MMA(88, 44, 45, 46, 47, 48, 49)
THRESHER_MMA(96, 48, 49, 50, 51, 52, 53)
THRESHER_MMA(104, 52, 53, 54, 55, 56, 57)
THRESHER_MMA(112, 56, 57, 58, 59, 60, 61)
THRESHER_MMA(120, 60, 61, 62, 63, 64, 65)
THRESHER_MMA(128, 64, 65, 66, 67, 68, 69)
THRESHER_MMA(136, 68, 69, 70, 71, 72, 73)
THRESHER_MMA(144, 72, 73, 74, 75, 76, 77)
THRESHER_MMA(152, 76, 77, 78, 79, 80, 81)
THRESHER_MMA(160, 80, 81, 82, 83, 84, 85)
THRESHER_MMA(168, 84, 85, 86, 87, 88, 89)
THRESHER_MMA(176, 88, 89, 90, 91, 92, 93)
THRESHER_MMA(184, 92, 93, 94, 95, 96, 97)
THRESHER_MMA(192, 96, 97, 98, 99, 100, 101)
THRESHER_MMA(200, 100, 101, 102, 103, 104, 105)
THRESHER_MMA(208, 104, 105, 106, 107, 108, 109)
THRESHER_MMA(216, 108, 109, 110, 111, 112, 113)
THRESHER_MMA(224, 112, 113, 114, 115, 116, 117)
THRESHER_MMA(232, 116, 117, 118, 119, 120, 121)
THRESHER_MMA(240, 120, 121, 122, 123, 124, 125)
THRESHER_MMA(248, 124, 125, 126, 127, 128, 129)
THRESHER_MMA(256, 128, 129, 130, 131, 132, 133)

#undef THRESHER_MMA
#undef THRESHER_MMA_SHARED
#undef THRESHER_MMA_REGISTERS
#undef THRESHER_MMA_ASM

}  // namespace thresher::gpu::hw
