/* Lanes of a row: calls that overlap and do not lie in each other stand in different ones, so that
   within a lane each lies in the one around it or behind the one before. A call goes into the lane
   of the innermost call around it, so that its time is none of that one's own; else into the first
   lane whose open calls have ended.

       items_add(&items, (row_item){start_ns, ns, id, row, ITEM_CALL}) ...
       items_sort(&items);
       lanes l = {0};
       for each of a row, in the items' order: number = lanes_take(&l, start_ns, &end_ns, id);
       lanes_clear(&l);            before the next row
       lanes_free(&l);                                                                         */
#ifndef PROF_LANES_H
#define PROF_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ITEM_CALL };              /* else it is a point of time, behind the calls that begin then */

typedef struct row_item {
    int64_t start_ns, amount;    /* ns that a call lasts; of points the caller's, as id is */
    uint64_t id;
    uint32_t row;
    uint16_t what;
    bool is_pair;                /* a call that is made of a begin and an end */
} row_item;

typedef struct row_items {
    row_item *list;              /* as they came */
    size_t count, capacity;
    uint32_t *order;             /* by row, start and -end */
} row_items;

void items_add(row_items *items, row_item added);
void items_sort(row_items *items);
void items_free(row_items *items);

/* Where so many overlap, what comes is shortened to the call around it in the last lane. */
enum { MOST_LANES = 1024 };

typedef struct lane_call { int64_t start_ns, end_ns; uint64_t id; } lane_call;

typedef struct lanes {
    struct lane { lane_call *open; size_t depth, capacity; } *list;
    size_t count, capacity;
    uint64_t shortened;
    /* is told of each end, innermost first; NULL: nobody */
    void (*ended)(void *user, uint32_t lane, const lane_call *call);
    void *user;
} lanes;

/* *end_ns gets less where the call is shortened. */
uint32_t lanes_take(lanes *l, int64_t start_ns, int64_t *end_ns, uint64_t id);
/* Ends what ends at that time or before it, in this lane. */
void lanes_advance(lanes *l, uint32_t lane, int64_t ns);
/* Of the calls open at that time, the one that began last; NULL: none. */
const lane_call *lanes_innermost(const lanes *l, int64_t ns);
void lanes_clear(lanes *l);                      /* ends all */
void lanes_free(lanes *l);

#endif
