/* Call paths of zones that come each behind all that lie in it: see path_sums.h. What lies in a
   zone is kept below a node without a key, which becomes the zone's when it comes, or is added to
   the node of the zones of its key before it. */
#include "analysis/path_sums.h"

#include <stdlib.h>
#include <string.h>

static uint64_t child_key(uint32_t parent, uint32_t key) { return (uint64_t)parent << 32 | key; }

static uint32_t new_node(path_sums *p) {
    uint32_t number = p->free;
    if (number) {
        p->free = p->nodes[number].next;
    } else {
        GROW(p->nodes, p->count, p->capacity);
        number = (uint32_t)p->count++;
    }
    p->nodes[number] = (path_node){0};
    return number;
}

static void free_node(path_sums *p, uint32_t number) {
    p->nodes[number].next = p->free;
    p->free = number;
}

static uint32_t child_of(const path_sums *p, uint32_t parent, uint32_t key) {
    const uint64_t *child = map_get(&p->children, child_key(parent, key));
    return child ? (uint32_t)*child : 0;
}

static void attach(path_sums *p, uint32_t number, uint32_t parent, uint32_t key) {
    path_node *node = &p->nodes[number];
    node->parent = parent;
    node->key = key;
    node->next = p->nodes[parent].first;
    p->nodes[parent].first = number;
    *map_put(&p->children, child_key(parent, key), NULL) = number;
}

static void add_values(path_node *to, const path_node *from) {
    to->self_ns += from->self_ns;
    to->calls += from->calls;
    to->bytes += from->bytes;
}

/* Moves all that is below one node to another. */
static void move_children(path_sums *p, uint32_t from, uint32_t to) {
    for (uint32_t at = p->nodes[from].first, next; at; at = next) {
        uint32_t key = p->nodes[at].key, known = child_of(p, to, key);
        next = p->nodes[at].next;
        *map_get(&p->children, child_key(from, key)) = 0;
        if (!known) {
            attach(p, at, to, key);
            continue;
        }
        add_values(&p->nodes[known], &p->nodes[at]);
        move_children(p, at, known);
        free_node(p, at);
    }
    p->nodes[from].first = 0;
}

/* There are levels for a zone of this depth and what lies in it. */
static path_thread *reach(path_thread *t, uint32_t depth) {
    size_t before = t->level_count;
    if (depth + 2 <= before) return t;
    t->level_count = 2 * ((size_t)depth + 2);
    t->levels = reallocate(t->levels, t->level_count * sizeof *t->levels);
    memset(t->levels + before, 0, (t->level_count - before) * sizeof *t->levels);
    return t;
}

static path_thread *thread_of(path_sums *p, uint32_t number, uint32_t depth) {
    bool is_new;
    uint64_t *place = map_put(&p->numbers, number, &is_new);
    if (!is_new) return reach(p->threads[*place], depth);
    GROW(p->threads, p->thread_count, p->thread_capacity);
    *place = p->thread_count;
    path_thread *made = arena_allocate(&p->memory, sizeof *made);
    made->number = number;
    return reach(p->threads[p->thread_count++] = made, depth);
}

static uint32_t within(path_sums *p, path_thread *t, uint32_t depth) {
    if (!t->levels[depth].within) t->levels[depth].within = new_node(p);
    return t->levels[depth].within;
}

/* What is deeper lost the zones around it: they are the next one's. */
static void rise(path_sums *p, path_thread *t, uint32_t depth) {
    for (; t->deepest > depth; t->deepest--) {
        if (t->levels[t->deepest].within)
            move_children(p, t->levels[t->deepest].within, within(p, t, t->deepest - 1));
        t->levels[t->deepest - 1].ns += t->levels[t->deepest].ns;
        t->levels[t->deepest].ns = 0;
    }
}

/* The node of the zone that comes, with what lies in it. */
static uint32_t node_of(path_sums *p, path_thread *t, uint32_t depth, uint32_t key) {
    uint32_t parent = within(p, t, depth), node = child_of(p, parent, key);
    uint32_t inner = t->levels[depth + 1].within;
    bool any = inner && p->nodes[inner].first;
    if (node && any) move_children(p, inner, node);
    if (node) return node;
    if (any) t->levels[depth + 1].within = 0;
    else inner = new_node(p);
    attach(p, inner, parent, key);
    return inner;
}

path_sums *paths_new(void) {
    path_sums *p = allocate(sizeof *p);
    p->children.forgets = true;
    new_node(p);
    return p;
}

void paths_add(path_sums *p, uint32_t thread, uint32_t depth, uint32_t key, int64_t ns) {
    path_thread *t = thread_of(p, thread, depth);
    if (t->deepest > depth + 1) rise(p, t, depth + 1);
    path_level *around = &t->levels[depth], *inner = around + 1;
    path_node one = {.self_ns = ns - inner->ns, .calls = 1, .bytes = around->bytes};
    uint32_t node = node_of(p, t, depth, key);
    add_values(&p->nodes[node], &one);
    inner->ns = around->bytes = 0;
    around->ns += ns;
    t->deepest = depth;
}

void paths_allocate(path_sums *p, uint32_t thread, uint32_t depth, uint64_t bytes) {
    thread_of(p, thread, depth)->levels[depth].bytes += (int64_t)bytes;
}

void paths_finish(path_sums *p) {
    for (size_t i = 0; i < p->thread_count; i++) {
        rise(p, p->threads[i], 0);
        within(p, p->threads[i], 0);
    }
}

void paths_free(path_sums *p) {
    map_free(&p->children);
    map_free(&p->numbers);
    for (size_t i = 0; i < p->thread_count; i++) free(p->threads[i]->levels);
    arena_free(&p->memory);
    free(p->threads);
    free(p->nodes);
    free(p);
}
