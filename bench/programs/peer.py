#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves a peer of `thresher bench --peers` that is a program in Python.

  python3 peer.py PROGRAM.py [PACKAGE...]

PROGRAM.py defines prepare(problem, peer, copy, first), which returns bind(calls), which returns
run(): one call, as often as it is asked. `peer` is a number, of those that the program has; `first`
is what it returned for copy 0, whose weights copy N holds again elsewhere. On a device PROGRAM.py also
defines use(index), which makes that device its own, foreign(), somebody else's small kernel,
capture(runs), which returns a function that replays them all, and forget(), which gives back what no
prepared problem needs any more.
"""
import serve

PEER_SHIFT = 16
# A problem without groups stands for no call of the peer's at all.
NOTHING = "nothing"


class Peer(serve.Server):
    def __init__(self, arena, program):
        super().__init__(arena, program)
        self.module = None
        self.runs = {}  # by id and table
        self.replays = {}  # by list of those
        self.replay = None

    def loaded(self):
        if self.module is None:
            self.module = serve.load(self.program)
        return self.module

    def device(self, index, *handles_and_sizes):
        super().device(index, *handles_and_sizes)
        self.module.use(int(index))

    def prepare(self, name, *problem):
        name = int(name)
        problem = self.arena.problem(*problem)
        bind = NOTHING
        if problem.groups:
            peer, copy = name >> PEER_SHIFT, name & ((1 << PEER_SHIFT) - 1)
            first = self.prepared[peer << PEER_SHIFT][1] if copy else None
            bind = self.loaded().prepare(problem, peer, copy, first)
        self.prepared[name] = problem, bind
        if self.cuda:
            self.cuda.synchronize()

    def one(self, name, table):
        """A call. Where its operands are does not change, so it is bound once."""
        if (name, table) not in self.runs:
            problem, bind = self.prepared[name]
            if bind is NOTHING:
                run = self.module.foreign if self.cuda else lambda: None
            else:
                run = bind(self.arena.calls(problem, table))
            self.runs[name, table] = run
        return self.runs[name, table]

    def run(self, name, table):
        self.one(int(name), int(table))()

    def batch(self, count, table):
        calls = tuple(self.arena.batch(count, table))
        if calls not in self.replays:
            self.replays[calls] = self.module.capture([self.one(*call) for call in calls])
        self.replay = self.replays[calls]
        self.cuda.synchronize()

    def go(self, _head_start, _delay):
        self.replay()
        self.cuda.synchronize()

    def release(self, name):
        self.runs, self.replays, self.replay = {}, {}, None
        del self.prepared[int(name)]
        if self.cuda:
            self.module.forget()


if __name__ == "__main__":
    serve.main(Peer)
