/* SQLite: a database in memory; inserts, an index, joins, groups, updates, deletes, a transaction
   that is rolled back, text and JSON functions. */
#include "work.h"

#include "sqlite3.h"

#include <stdio.h>
#include <stdlib.h>

static int row(void *user, int columns, char **texts, char **names) {
    long long *sum = (long long *)user;
    (void)names;
    for (int i = 0; i < columns; i++) *sum += texts[i] ? atoll(texts[i]) : 0;
    return 0;
}

static long long sum;

static int run(sqlite3 *db, const char *sql) {
    char *why = NULL;
    int failed = sqlite3_exec(db, sql, row, &sum, &why);
    if (failed) fprintf(stderr, "%s: %s\n", sql, why ? why : "?");
    sqlite3_free(why);
    return failed;
}

static int insert(sqlite3 *db, int count) {
    sqlite3_stmt *s;
    unsigned seed = 7;
    int failed = sqlite3_prepare_v2(db, "insert into orders values (?, ?, ?, ?)", -1, &s, NULL);
    if (failed) return failed;
    for (int i = 0; i < count && !failed; i++) {
        sqlite3_bind_int(s, 1, i);
        sqlite3_bind_int(s, 2, (int)(work_random(&seed) % 200));
        sqlite3_bind_double(s, 3, work_random(&seed) % 10000 / 100.0);
        sqlite3_bind_text(s, 4, i % 3 ? "shipped and paid" : "open", -1, SQLITE_STATIC);
        failed = sqlite3_step(s) != SQLITE_DONE;
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return failed;
}

int main(void) {
    static const char *const after[] = {
        "create index by_customer on orders(customer, amount)",
        "insert into customers with recursive n(i) as (select 0 union all select i + 1 from n "
        "where i < 199) select i, 'customer ' || i from n",
        "select name, count(*), sum(amount) from orders join customers on customer = customers.id "
        "group by name order by 3 desc",
        "select count(*) from orders where state like '%paid' and amount > 50",
        "select sum(length(replace(upper(state), 'A', 'bb'))) from orders",
        "update orders set amount = amount * 2 where customer % 5 = 0",
        "begin; delete from orders where id % 2 = 0; rollback",
        "delete from orders where id % 7 = 0",
        "select count(*) from (select customer, rank() over "
        "(partition by customer order by amount) as place from orders) where place < 4",
        "select json_extract('{\"a\":[1,2,3]}', '$.a[1]')",
        "pragma integrity_check" };
    sqlite3 *db;
    int failed;
    work_begin();
    failed = sqlite3_open(":memory:", &db) ||
             run(db, "create table orders(id integer primary key, customer, amount, state);"
                     "create table customers(id integer primary key, name)") ||
             run(db, "begin") || insert(db, 20000) || run(db, "commit");
    for (unsigned i = 0; i < sizeof after / sizeof *after && !failed; i++)
        failed = run(db, after[i]);
    sqlite3_close(db);
    work_end();
    printf("%lld\n", sum);
    return failed;
}
