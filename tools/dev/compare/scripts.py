"""Makes the scripts that player.c plays: script(seed, case) is always the same text."""
import random

NAMES = ['one', 'two', 'three', 'four', 'a_name_that_is_longer_than_the_column_of_the_table_has_it',
         'caf\u00e9', 'tab\\t', 'Optimizer.step#SGD.step', '=formula']
ROOMY = 32 << 20

# A case: what its session is told. 'few': its arena is small, and only calls and totals by name and
# what was counted are compared, for names that all have room.
CASES = {
    'roomy': dict(mode=0),
    'details': dict(mode=0),
    'aggregate': dict(mode=3),
    'ring': dict(mode=1),
    'stream': dict(mode=2),
    'windows': dict(mode=0),
    'outside': dict(mode=0),
    'nests': dict(mode=0),               # with 200 seeds over 10,000 traces
    'deep': dict(mode=0),
    'few_sums': dict(mode=0, memory=256 << 10, threads=8),
    'few_drop': dict(mode=0, when_full=1, memory=64 << 10, threads=4),
    'few_ring': dict(mode=1, memory=512 << 10, threads=8),
    'few_stream': dict(mode=2, inline=1, memory=256 << 10, threads=8),
    'few_aggregate': dict(mode=3, memory=256 << 10, threads=8),
    'bare': dict(mode=0, memory=1 << 20),
    'bare_ring': dict(mode=1, memory=1 << 20),
    'bare_stream': dict(mode=2, inline=1, memory=1 << 20),
    'bare_aggregate': dict(mode=3, memory=1 << 20),
    'few_bare': dict(mode=0, memory=24 << 10),
    'few_bare_ring': dict(mode=1, memory=24 << 10),
    'few_bare_aggregate': dict(mode=3, memory=24 << 10),
}


class Script:
    def __init__(self, seed, case):
        self.random = random.Random('%d %s' % (seed, case))
        self.case = case
        self.bare = 'bare' in case
        self.few = case.startswith('few') or case == 'deep'
        self.lines = []
        self.thread = 0
        self.open = {0: []}              # of each thread: what it has open, outermost first
        self.used = set()                # slots that hold a range, an arrow, a mark
        self.parts = {part for part in ('odd', 'moments', 'threads', 'details', 'memory', 'ranges',
                                        'submit', 'toggle', 'marks', 'contexts')
                      if self.random.random() < 0.4 or part == case}

    def say(self, *words):
        self.lines.append(' '.join(str(word) for word in words))

    def tick(self):
        r = self.random
        self.say('tick', r.choice([0, 1, 7, r.randrange(1000), r.randrange(100000), 1000]))

    def chance(self, part, share=0.1):
        return part in self.parts and self.random.random() < share

    # ---- Zones ----

    def zone_open(self):
        r, stack = self.random, self.open[self.thread]
        kinds = ['begin', 'push', 'block']
        if self.bare or 'contexts' in self.parts or 'marks' in self.parts:
            kinds = ['begin', 'push']    # blocks end as their functions return
        if not self.bare and not self.few:
            kinds += ['push_f', 'push_with'] if 'details' in self.parts else ['push_f']
        kind = r.choice(kinds)
        if kind in ('begin', 'block'):
            self.say(kind, r.randrange(8 if kind == 'begin' else 5))
        elif kind == 'push':
            self.say(kind, r.choice(NAMES))
        else:
            self.say(kind, r.choice(NAMES), r.randrange(8))
        stack.append('block' if kind == 'block' else 'end' if kind == 'begin' else 'pop')

    def zone_close(self):
        stack = self.open[self.thread]
        if not stack:
            if self.chance('odd'):
                self.say(self.random.choice(['end', 'pop']))
            return
        if self.chance('odd', 0.05) and stack.count('block') and stack[-1] != 'block':
            while stack.pop() != 'block':    # what is open in the block is ended with it
                pass
            self.say('close')
            return
        kind = stack.pop()
        self.say('close' if kind == 'block' else kind)

    def loop(self):
        """Some zones many times: what the body opens it closes."""
        self.say('loop', self.random.choice([3, 20, 200, 2000] if self.few else [2, 5, 30, 400]))
        depth = len(self.open[self.thread])
        for _ in range(self.random.randrange(1, 5)):
            self.zone_open()
            self.tick()
        while len(self.open[self.thread]) > depth:
            kind = self.open[self.thread].pop()
            self.tick()
            self.say('close' if kind == 'block' else kind)
        self.say('close')

    def recursion(self, depth):
        name = self.random.randrange(4)
        for _ in range(depth):
            self.say('begin', name)
            self.tick()
        for _ in range(depth):
            self.say('end')
            self.tick()

    # ---- All else ----

    def switch(self):
        """Another thread or context goes on, or one ends."""
        r = self.random
        if self.bare:
            if not self.few and not any(self.open.values()):
                self.say('task', r.randrange(3))
            self.thread = r.randrange(4)
            self.say('context', self.thread)
        elif self.thread and r.random() < 0.2:
            self.say('thread', 0)
            if r.random() < 0.5:
                self.say('join', self.thread)
                self.open[self.thread] = []
            self.thread = 0
        else:
            self.thread = r.randrange(5)
            self.say('thread', self.thread)
        self.open.setdefault(self.thread, [])

    def moment(self):
        r = self.random
        value = r.randrange(-9, 1 << r.randrange(1, 62))
        self.say('instant', r.randrange(4), value, r.choice(NAMES))
        if not self.bare and r.random() < 0.3:
            self.say('counter_f', r.choice(NAMES), r.randrange(-5, 1000))

    def detail(self):
        r = self.random
        n = r.randrange(9)
        self.say(*r.choice([
            ('arg', 'key%d' % (n % 3), 'text%d' % n), ('arg', 'other', '{"a": %d}' % n),
            ('arg_int', 'n', n * 1000003 - 7), ('arg_int', 'key%d' % n, -n),
            ('flops', n * 100 or 1),     # 0 is none for prof_set
            ('overload', 'Tensor%d' % (n % 2)), ('module', 'net.layer%d' % n),
            ('module_push', 'm%d' % n), ('module_pop',), ('annotation',),
            ('sequence', n, n % 2, 5000),
            ('stack', 'a.py(3):f', 'b.py(%d):g' % n, 'main.py(1):main'), ('shapes', n, n % 2),
            ('strides', n), ('outputs', n), ('inputs', '2', '[1]', 'x'), ('tensors', n),
            ('name', 'worker%d' % n), ('metadata', 'key%d' % n, 'value')]))

    def memory(self):
        r = self.random
        address, device = 4096 * r.randrange(1, 20), r.choice([0, 0, 1])
        if r.random() < 0.2:
            self.say('kind', r.randrange(8))
        if r.random() < 0.55:
            self.say('alloc', address, r.randrange(1, 1 << r.randrange(3, 40)), device)
        else:
            self.say('free', address, device)

    def range(self):
        r = self.random
        kind, slot = r.choice(['async', 'flow']), r.randrange(8)
        if (kind, slot) in self.used:
            self.say(kind + '_end', slot)
            if not self.chance('odd', 0.3):
                self.used.discard((kind, slot))
        else:
            self.say(kind, slot, r.choice(NAMES))
            self.used.add((kind, slot))

    def outer(self):
        r = self.random
        if r.random() < 0.6:
            self.say('submit', r.randrange(5000), r.randrange(3000), r.randrange(1, 50),
                     r.choice([1, 1, 1]))        # all types share a column now
        else:
            self.say('submit_memory', r.randrange(5000), 4096 * r.randrange(50, 60),
                     r.randrange(1, 9999), r.randrange(2), r.randrange(2))

    def jump(self):
        stack = self.open[self.thread]
        self.say('mark', 0)
        for _ in range(self.random.randrange(4)):
            self.zone_open()
            self.tick()
        while stack and self.random.random() < 0.3:
            self.zone_close()
        self.say('unwind', 0)
        self.open[self.thread] = []      # not known any more: what is open later ends with stop

    def body(self, count):
        r = self.random
        for _ in range(count):
            self.tick()
            stack = self.open[self.thread]
            if r.random() < (0.55 if len(stack) < 6 else 0.3 if len(stack) < 20 else 0.0):
                self.zone_open()
            else:
                self.zone_close()
            if r.random() < (0.05 if self.few else 0.01):
                self.loop()
            if r.random() < 0.01:
                self.recursion(r.randrange(2, 12))
            if self.chance('threads'):
                self.switch()
            if self.few:
                continue
            if self.chance('moments'):
                self.moment()
            if self.bare:
                continue
            self.hosted_only()

    def hosted_only(self):
        if self.chance('details', 0.3):  # one, or several of the same zone
            for _ in range(self.random.choice([1, 1, 2, 6])):
                self.detail()
        if self.chance('memory', 0.2):
            self.memory()
        if self.chance('ranges'):
            self.range()
        if self.chance('submit', 0.05) and self.case in ('roomy', 'details'):
            self.outer()
        if self.chance('contexts', 0.05):
            self.say('context', self.random.randrange(4))
            self.open[self.thread] = []
        if self.chance('marks', 0.02):
            self.jump()
        if self.chance('toggle', 0.01):
            self.say('toggle', 0)
            self.tick()
            self.say('toggle', 1)
        if self.chance('odd', 0.01):
            self.say('categories', self.random.choice([0, 1, 2, 0xffffffff]))

    # ---- Sessions ----

    def settings(self):
        r = self.random
        settings = dict(memory=ROOMY)
        settings.update(CASES[self.case])
        if not self.bare and not self.few and self.case not in ('aggregate', 'stream'):
            for key in ('events', 'stack', 'modules', 'records_only'):
                settings[key] = int(r.random() < (0.02 if key == 'records_only' else 0.3))
        if not self.bare and not self.few:
            for key in ('shapes', 'flops', 'profile_memory'):
                settings[key] = int(r.random() < 0.5)
        if self.case == 'stream':
            settings['chrome_stream'] = int(r.random() < 0.3)
            if settings['chrome_stream']:    # it carries none of these
                settings.update(shapes=0, flops=0, profile_memory=0)
        if self.case == 'windows':
            settings.update(skip_first=r.randrange(3), wait=r.randrange(3), warmup=r.randrange(2),
                            active=r.randrange(1, 4), repeat=r.randrange(3),
                            acc_events=int(r.random() < 0.3))
        if self.case == 'deep':
            settings['depth'] = r.choice([4, 16, 64])
        elif not self.bare and not self.few and r.random() < 0.2:
            settings['depth'] = 255
        return settings

    def session(self):
        for key, value in self.settings().items():
            if value:
                self.say('set', key, value)
        self.say('start')
        for _ in range(self.random.randrange(1, 6)):
            self.body(self.random.choice([5, 20, 60]))
            if self.case == 'windows':
                for _ in range(self.random.randrange(3)):
                    self.say('step')
            if self.case == 'stream' and self.random.random() < 0.5:
                self.say('flush')
            if self.case.endswith('ring') or self.case == 'roomy' and self.chance('odd'):
                self.say('dump')
            if self.case.endswith('aggregate'):
                self.say('snapshot')
            if self.case == 'deep':
                self.recursion(self.random.choice([10, 70, 300]))
        if self.thread and not self.bare:
            self.say('thread', 0)
            self.thread = 0
        self.say('stop')
        self.say('report', 2 if self.case == 'few_ring' else int(self.few))

    def make(self):
        rate = 1000 if self.few else self.random.choice([1000, 1000, 1000, 3000, 24, 2801])
        if self.case == 'nests':
            self.say('nests', self.random.randrange(1 << 30), 250)
            return
        if self.case == 'outside':
            for _ in range(4):
                self.say('outside', self.random.randrange(1 << 30),
                         self.random.choice([0, 1, 5, 40, 200, 1500]))
                self.say('report', 0)
            return
        self.say('rate', rate)               # ticks a us, which a first session measures
        for word in ('start', 'tick %d' % (20000 * rate), 'stop'):
            self.say(word)
        for _ in range(self.random.choice([1, 1, 2])):
            self.session()


def script(seed, case):
    s = Script(seed, case)
    s.make()
    return '\n'.join(s.lines) + '\n'
