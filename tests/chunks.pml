/* The chunk protocol of prof.h's recorder as a spin model: one thread writes records into a ring of
   chunks, publishes each by moving its cursor (a release store), and takes the oldest chunk when
   one is full; a reader drains (stream) or dumps (ring) what is published; a stop reads the cursor
   at any moment. tests/test_model.sh checks it, and that it fails with each of these mistakes:
     EARLY     the cursor moves before the record is written
     NO_USE    the dump does not see that a chunk was emptied while it copied
     NO_ROW    a chunk that is being emptied does not say so
     TAKE      a chunk of a stream is taken again before it was flushed
     NO_STOP   the writer goes on after the stop has closed the generation */
#define CHUNKS 2
#define SLOTS 2
#define RECORDS 5

byte slot[4];                            /* record number; 0: nothing, 255: half written */
byte use[CHUNKS];                        /* counts how often a chunk was emptied */
byte first_of[CHUNKS];                   /* the number of its first record */
byte cursor;                             /* records published in the current chunk */
byte current;                            /* the chunk */
byte end_of[CHUNKS];                     /* of its records, once the thread has gone on */
bool taken[CHUNKS];                      /* it has a row: there is something in it */
bool flushed[CHUNKS] = true;             /* it may be taken again */
bool on = true;
byte written, dropped, drained, stopped_at = 255;

#define AT(chunk, i) slot[(chunk) * SLOTS + (i)]

/* Goes on to the next chunk, if it may. */
inline take() {
    next = (current + 1) % CHUNKS;
    if
#ifdef STREAM
#ifndef TAKE
    :: !flushed[next] -> room = false
#endif
    :: else ->
#else
    :: true ->
#endif
#ifndef NO_ROW
       taken[next] = false;
#endif
       use[next]++;
       first_of[next] = written + 1;
       end_of[next] = 0;
       end_of[current] = SLOTS;
       flushed[next] = false;
       taken[next] = true;
       atomic { current = next; cursor = 0 }
    fi
}

proctype Writer() {
    byte n = 0, next;
    bool room;
    do
    :: n < RECORDS ->
       n++;
       room = true;
       if
       :: cursor == SLOTS -> take()
       :: else
       fi;
       if
       :: !room -> dropped++
       :: room ->
#ifdef NO_STOP
          if
          :: true ->
#else
          if                             /* the limit is NULL once the generation has ended */
          :: !on -> break
          :: on ->
#endif
#ifdef EARLY
             cursor++;
             AT(current, cursor - 1) = 255;
             AT(current, cursor - 1) = written + 1;
#else
             AT(current, cursor) = 255;
             AT(current, cursor) = written + 1;
             cursor++;
#endif
             written++
          fi
       fi
    :: else -> break
    od
}

#ifdef STREAM
/* Reads what is published of each chunk in order; nothing is lost, nothing comes twice. */
proctype Reader() {
    byte chunk = 0, done = 0, end;
    bool left;
    do
    :: left = (chunk != current);        /* then the chunk is whole */
       end = (left -> SLOTS : cursor);
       if
       :: left == (chunk != current) -> skip
       :: else -> end = done             /* the thread has just gone on: look again */
       fi;
       do
       :: done < end ->
          assert(AT(chunk, done) == drained + 1);
          drained++;
          done++
       :: else -> break
       od;
       if
       :: left && done == SLOTS ->
          flushed[chunk] = true;
          chunk = (chunk + 1) % CHUNKS;
          done = 0
       :: !left && _nr_pr == 2 && cursor == done -> break
       :: else
       fi
    od;
    assert(drained == written)
}
#else
/* Copies a chunk, then looks whether it was emptied meanwhile: only then is the copy used. */
proctype Reader() {
    byte chunk = 0, before, end, i, copy[2], from;
    do
    :: chunk < CHUNKS ->
       before = use[chunk];
       if
       :: !taken[chunk] -> end = 0
       :: else ->
          end = end_of[chunk];
          if
          :: end == 0 && chunk == current -> end = cursor
          :: else
          fi
       fi;
       from = first_of[chunk];
       i = 0;
       do
       :: i < end -> copy[i] = AT(chunk, i); i++
       :: else -> break
       od;
#ifndef NO_USE
       if
       :: use[chunk] == before ->
#endif
          i = 0;
          do
          :: i < end ->
             assert(copy[i] == from + i);
             i++
          :: else -> break
          od
#ifndef NO_USE
       :: else
       fi
#endif
       ;
       chunk++
    :: else -> break
    od
}
#endif

/* prof_stop: ends the generation, then reads the cursor; at most the record that was under way is
   written after it. */
proctype Stop() {
    on = false;
    stopped_at = written
}

init {
    byte i;
    first_of[0] = 1;
    taken[0] = true;
    flushed[0] = false;
    atomic { run Writer(); run Reader();
#ifndef STREAM
        run Stop()
#endif
    }
    (_nr_pr == 1);
#ifndef STREAM
    assert(written <= stopped_at + 1);
#endif
    assert(written + dropped <= RECORDS)
}
