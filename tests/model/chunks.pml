/* The chunk protocol of prof.h (rooms @THREADS, @RECORD, @RAW, @SESSION), for spin: one store or
   load a step, in every order that threads can bring about. MODEL says what runs beside the thread
   that records:
     1 STOP     prof_stop reads while the thread records or is stalled; then another session begins,
                in the same arena, with another thread
     2 DUMP     prof_dump copies a ring while its thread goes round it
     3 STREAM   prof_flush takes chunks from the thread, which takes them again
     4 WINDOWS  prof_start, _step, _toggle and _stop lay the memory out anew while two threads, or a
                signal handler, ask for a dump; nobody records
     5 OPEN     prof_stop looks which zones are open while their thread begins and ends zones
   MUTANT takes one rule out; the model must then fail:
     1 EARLY    a record is published before it is written
     2 OWNED    memory that a stalled thread may still write is used again
     3 UNTOLD   the dump cannot see that a chunk was emptied meanwhile
     4 STALE    the dump reads the cursor before it knows for which use of the chunk
     5 USED_UNFLUSHED   the thread takes a chunk again that is not flushed
     6 ASKED_FIRST      the dump looks whether the windows are settled before it says it is under way
     7 WAITED_FIRST     a window waits for the dump's end before it says that it changes
     8 CLAIMED_APART    the dump looks whether another is under way, and says so in a second step
     9 UNREADABLE       the dump does not look whether there is anything to read
    10 UNCHECKED        prof__snapshot_check does not look whether the innermost zone was ended
   0: none.
   What the model leaves out: clocks, more than one recording thread in a session. */

#define STOP 1
#define DUMP 2
#define STREAM 3
#define WINDOWS 4
#define OPEN 5
#define EARLY 1
#define OWNED 2
#define UNTOLD 3
#define STALE 4
#define USED_UNFLUSHED 5
#define ASKED_FIRST 6
#define WAITED_FIRST 7
#define CLAIMED_APART 8
#define UNREADABLE 9
#define UNCHECKED 10

#define SLOTS 2                          /* a chunk's */
#if MODEL == STOP
#  define CHUNKS 4
#  define ZONES 4
#else
#  define CHUNKS 2
#  define ZONES 6
#endif
#define ALL (SLOTS * CHUNKS)
#define NONE 255

/* A record is two words. It is whole when both are of one zone; zones are numbered from 1. */
byte low[ALL], high[ALL];

/* A segment for each chunk, as prof__segment. */
bool taken[CHUNKS];                      /* row is set */
byte until[CHUNKS];                      /* end; NONE: the cursor tells */
byte following[CHUNKS];                  /* next */
byte used[CHUNKS];                       /* use */

bool locked;
bool on = true;
byte first = NONE;                       /* the row's */
byte chunk = NONE;                       /* that the thread writes; known under the lock */
byte cursor, limit;                      /* hot.cursor, hot.last; 0: always slow */
byte ring_next;
byte published, dropped;                 /* zones, for the checks alone */
bool finished;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* prof__chunk_take. STREAM: only what was flushed. to: NONE when there is none. */
inline chunk_take(to) {
    if
    :: MODEL == STREAM && taken[ring_next] && MUTANT != USED_UNFLUSHED -> to = NONE
    :: else ->
        to = ring_next;
        taken[to] = false;
#if MUTANT != UNTOLD
        used[to]++;
#endif
        ring_next = (ring_next + 1) % CHUNKS
    fi
}

/* prof__segment_open */
inline segment_open(g) {
    until[g] = NONE;
    following[g] = NONE;
    if
    :: chunk != NONE -> until[chunk] = (chunk + 1) * SLOTS; following[chunk] = g
    :: else -> first = g
    fi;
    taken[g] = true;
    chunk = g;
    cursor = g * SLOTS
}

inline put(at, number) {
#if MUTANT == EARLY
    cursor = at + 1;
    published++;
    low[at] = number;
    high[at] = number
#else
    low[at] = number;
    high[at] = number;
    atomic { cursor = at + 1; published++ }
#endif
}

#if MODEL != OPEN && MODEL != WINDOWS
/* A thread that records. It looks whether the session is open, may be stalled after that, and then
   stores. */
proctype thread() {
    byte number = 1, at, g;
    do
    :: number <= ZONES && on ->
        at = cursor;
        if
        :: at < limit -> put(at, number); number++
        :: else ->                       /* the slow path */
            lock();
            if
            :: on ->
                chunk_take(g);
                if
                :: g != NONE -> segment_open(g)
                :: else -> dropped++; number++
                fi
            :: else
            fi;
            unlock();
            limit = (chunk + 1) * SLOTS; /* prof__set_limits */
            if :: !on -> limit = 0 :: else fi
        fi
    :: else -> break
    od;
    finished = true
}
#endif

#if MODEL == STOP
byte seen;                               /* zones that the reader found */

/* Reads from segment to segment, as prof__read_row does. */
inline read_row(last) {
    g = first;
    do
    :: g != NONE ->
        at = g * SLOTS;
        to = until[g];
        if :: to == NONE -> to = last :: else fi;
        if
        :: to >= at && to <= (g + 1) * SLOTS ->
            do
            :: at < to ->
                seen++;
                assert(low[at] == seen && high[at] == seen);
                at++
            :: else -> break
            od
        :: else
        fi;
        g = following[g]
    :: else -> break
    od
}

active proctype session() {
    byte g, at, to, last, before, own, n;
    lock();
    chunk_take(g);
    segment_open(g);
    limit = SLOTS;
    unlock();
    run thread();
    lock();                              /* prof__recording_close */
    on = false;
    before = published;
    limit = 0;
    last = cursor;
    own = chunk;
    read_row(last);
    assert(seen >= before && seen <= before + 1);
    unlock();
    /* The next session: its thread takes any chunk but the one that the first may still write. */
    lock();
    g = 0;
    do
    :: g == own && MUTANT != OWNED -> g++
    :: else -> break
    od;
    unlock();
    at = g * SLOTS;
    n = 0;
    do
    :: n < SLOTS -> low[at + n] = 100 + n; high[at + n] = 100 + n; n++
    :: else -> break
    od;
    finished;
    n = 0;
    do
    :: n < SLOTS -> assert(low[at + n] == 100 + n && high[at + n] == 100 + n); n++
    :: else -> break
    od
}
#endif

#if MODEL == DUMP
/* prof__dump_segment for each: a block is written when its chunk was not emptied meanwhile. */
active proctype dump() {
    byte i, g, at, to, use, last, copies, n, start, newest;
    byte copy_low[SLOTS], copy_high[SLOTS];
    chunk_take(g);
    segment_open(g);
    limit = SLOTS;
    run thread();
    last = cursor;
    start = ring_next;
    do
    :: i < CHUNKS ->
        g = (start + i) % CHUNKS;
        use = used[g];
        if
        :: taken[g] ->
#if MUTANT != STALE
            last = cursor;
#endif
            to = until[g];
            if :: to == NONE -> to = last :: else fi;
            at = g * SLOTS;
            copies = 0;
            do
            :: at < to && to <= (g + 1) * SLOTS ->
                copy_low[copies] = low[at];
                copy_high[copies] = high[at];
                copies++;
                at++
            :: else -> break
            od;
            if
            :: used[g] == use ->
                n = 0;
                do
                :: n < copies ->
                    assert(copy_low[n] == copy_high[n] && copy_low[n]);
                    assert(n == 0 || copy_low[n] == copy_low[n - 1] + 1);
                    n++
                :: else -> break
                od
            :: else                      /* it is left out */
            fi
        :: else
        fi;
        i++
    :: else -> break
    od
}
#endif

#if MODEL == STREAM
byte written, ring_flushed;              /* records that left */

/* prof__stream_state: all that is there now. */
inline flush() {
    do
    :: true ->
        lock();
        g = ring_flushed;
        if
        :: !taken[g] -> unlock(); break
        :: else
        fi;
        to = until[g];
        done = to != NONE;
        if :: !done -> to = cursor :: else fi;
        if :: to < flushed || to > (g + 1) * SLOTS -> to = flushed :: else fi;
        unlock();
        if :: flushed == to && !done -> break :: else fi;
        do
        :: flushed < to ->
            assert(low[flushed] == high[flushed]);
            assert(low[flushed] > last);
            last = low[flushed];
            written++;
            flushed++
        :: else -> break
        od;
        if
        :: done ->
            lock();
            taken[g] = false;
            ring_flushed = (ring_flushed + 1) % CHUNKS;
            flushed = ring_flushed * SLOTS;
            unlock()
        :: else
        fi
    od
}

active proctype drain() {
    byte g, to, flushed, last;
    bool done;
    lock();
    chunk_take(g);
    segment_open(g);
    limit = SLOTS;
    unlock();
    run thread();
    do
    :: finished -> break
    :: true -> flush()
    od;
    flush();
    assert(written == published && written + dropped == ZONES)
}
#endif

#if MODEL == WINDOWS
bool settled, busy;                      /* prof__outgoing.settled, prof__outgoing.busy */
bool readable;                           /* s->open || s->stopped */
bool changing;                           /* what follows is for the checks alone */
byte dumps;

/* prof__windows_unsettle; what it waits for is bounded there: a dump that takes seconds */
inline windows_unsettle() {
#if MUTANT == WAITED_FIRST
    !busy;
    settled = false
#else
    settled = false;
    !busy
#endif
}

/* A call that opens or closes a window, or only one half: a warm-up has nothing to read yet. */
active proctype session() {
    byte calls;
    do
    :: calls < 3 ->
        windows_unsettle();
        changing = true;
        if
        :: readable = true
        :: readable = false
        fi;
        changing = false;
        settled = true;                  /* prof__session_release */
        calls++
    :: else -> break
    od
}

active [2] proctype dump() {
    bool was, possible;
    byte asked;
    do
    :: asked < 2 ->
        asked++;
#if MUTANT == ASKED_FIRST
        possible = settled;
#endif
#if MUTANT == CLAIMED_APART
        was = busy;
        busy = true;
#else
        atomic { was = busy; busy = true }   /* prof__dump_claim */
#endif
        if
        :: !was ->
#if MUTANT != ASKED_FIRST
            possible = settled;          /* prof__dump_possible */
#endif
            if
#if MUTANT == UNREADABLE
            :: possible ->
#else
            :: possible && readable ->
#endif
                dumps++;
                assert(dumps == 1 && !changing && readable);
                assert(dumps == 1 && !changing && readable);   /* to its end */
                dumps--
            :: else
            fi;
            busy = false
        :: else
        fi
    :: else -> break
    od
}
#endif

#if MODEL == OPEN
#define DEPTH 2
byte top;                                /* hot.top */
byte start[DEPTH];                       /* of frames: a zone's number stands for its time */
byte ended[ZONES], level[ZONES];         /* the records */
bool begun[ZONES + 1];                   /* for the checks alone: before prof_stop */

/* Zones begin and end at random. Each looks first, may be stalled, and then stores. */
proctype nester() {
    byte number, at, f;
    do
    :: on && number < ZONES && top < DEPTH ->
        number++;
        f = top;                         /* prof__frame_open */
        top = f + 1;
        atomic { start[f] = number; begun[number] = on }
    :: top > 0 ->                        /* prof__end_inline */
        at = cursor;
        f = top - 1;
        if
        :: at < limit ->
            ended[at] = start[f];
            level[at] = f;
            cursor = at + 1;
            top = f
        :: else -> break                 /* prof__end leaves it open until prof_stop has looked */
        fi
    :: else -> break
    od
}

active proctype stopper() {
    byte i, n, count, last, before_top = NONE, before_cursor = NONE;
    byte open[DEPTH];
    limit = ZONES;
    run nester();
    on = false;
    limit = 0;
    do                                   /* prof__snapshot */
    :: true ->
        count = top;
        last = cursor;
        if
        :: count == before_top && last == before_cursor -> break
        :: else
        fi;
        before_top = count;
        before_cursor = last;
        i = 0;
        do
        :: i < count -> open[i] = start[i]; i++
        :: else -> break
        od
    od;
    skip;
    d_step {
        if                               /* prof__snapshot_check */
        :: count > 0 && open[count - 1] == 0 -> count--
        :: count > 1 && open[count - 1] < open[count - 2] -> count--
#if MUTANT != UNCHECKED
        :: count > 0 && last > 0 && open[count - 1] == ended[last - 1] &&
           level[last - 1] == count - 1 -> count--
#endif
        :: else
        fi;
        n = 1;
        do
        :: n <= ZONES ->
            before_top = 0;              /* how often it is told */
            i = 0;
            do
            :: i < last -> before_top = before_top + (ended[i] == n); i++
            :: else -> break
            od;
            i = 0;
            do
            :: i < count -> before_top = before_top + (open[i] == n); i++
            :: else -> break
            od;
            assert(before_top <= 1);
            assert(before_top == 1 || !begun[n]);
            n++
        :: else -> break
        od;
        skip
    }
}
#endif
