// SPDX-License-Identifier: Apache-2.0
// The stage: the inputs of a set of contestants, what they are told and what they compute with. The
// referee keeps its own copy of everything, from which expected values are computed, and which
// tells whether anybody has changed what is on stage.
//
// On the CPU it is one arena. Weights lie at its beginning and stay; the activations of each call
// are put at another place behind them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm/inputs.hpp"
#include "gemm/random.hpp"
#include "referee/protocol.hpp"
#include "referee/stage/arena.hpp"
#include "thresher/problem.hpp"

namespace thresher::referee {

// Buffers in both arenas begin at multiples of this.
inline constexpr std::int64_t kAlignmentBytes = 64;

struct StagedProblem {
  std::int64_t id = 0;
  Problem problem;
  Inputs inputs;                  // the referee's own copy
  std::int64_t table_offset = 0;  // of the GroupRecords, with the weights behind them
  std::int64_t weights_end = 0;   // CPU: where these end
};

Request prepare_request(const StagedProblem& staged, std::uint64_t token);

// Where the outputs of one group of a call are to go.
struct OutputPlace {
  std::int64_t c = -1;
  std::int64_t c_stride = 0;
};

enum class Room : std::uint8_t {
  kForAll,       // the weights of all problems together
  kForOneByOne,  // of any one, with clear() in between
};

class Stage {
 public:
  virtual ~Stage() = default;

  // Puts the weights of `inputs` where contestants find them. No contestant may be running.
  virtual StagedProblem put(const Problem& problem, Inputs inputs) = 0;
  // Makes room for other problems; those put so far are gone.
  virtual void clear() = 0;
  // Whether contestants still find what was put there.
  virtual bool weights_intact(const StagedProblem& staged) const = 0;
};

class CpuStage final : public Stage {
 public:
  CpuStage(std::span<const Problem> problems, Room room);

  StagedProblem put(const Problem& problem, Inputs inputs) override;
  void clear() override { used_ = 0; }
  bool weights_intact(const StagedProblem& staged) const override;

  // A place for the activations of a call, different each time.
  std::int64_t draw_place(Random& random) const;
  // Puts the activations and the table of a call there; returns the offset of the table.
  std::int64_t put_call(const StagedProblem& staged, std::span<const OutputPlace> outputs,
                        std::int64_t place);

  // Takes what all arms share of a call out of the caches: activations and table, and the weights
  // as they were put if some arm reads them in its calls.
  void flush_call(const StagedProblem& staged, std::int64_t place, bool with_weights) const;

  bool call_intact(const StagedProblem& staged, std::int64_t place) const;

  const Arena& arena() const { return arena_; }

 private:
  struct Sizes {
    std::int64_t weights = 0;
    std::int64_t call = 0;  // the largest
  };
  static Sizes sizes_of(std::span<const Problem> problems, Room room);
  explicit CpuStage(Sizes sizes);

  const Sizes sizes_;
  Arena arena_;
  std::int64_t used_ = 0;
  std::int64_t next_id_ = 0;
};

// New activations out of old ones: every row is turned by a random number of blocks and gets new
// signs. No earlier result, nor anything made from earlier activations, can be used again, and it
// costs far less than drawing them anew.
void redraw_activations(const Problem& problem, Inputs& inputs, Random& random);

// Timed calls have natural weights, and now and then activations whose sums with these are exact in
// FP32 in any order. Then a gemm must give the very bits, and lower precision has nowhere to hide.
//
// Makes alphas and global scales powers of two, which is what exact results need of them.
void make_factors_exact(Inputs& inputs);
// Whether there are such activations for sums this long.
bool has_exact_activations(const Problem& problem);
// Draws them: small integers, with scales of 1.
void draw_exact_activations(const Problem& problem, Inputs& inputs, Random& random);
// Now and then.
bool toss_exact(const Problem& problem, Random& random);

// Turns the signs of one block in the last quarter of every row: what a contestant that recognises
// inputs by their first bytes does not notice.
void turn_late_blocks(const Problem& problem, Inputs& inputs, Random& random);

}  // namespace thresher::referee
