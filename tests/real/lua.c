/* Lua: a script of tables, strings, sorting, closures, garbage, coroutines, and errors, which Lua
   throws by longjmp. */
#include "work.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#include <stdio.h>

static const char script[] =
    "local seed = 42\n"
    "local function random(n) seed = (seed * 16807) % 2147483647; return seed % n + 1 end\n"
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local sum = fib(21)\n"
    "for round = 1, 100 do\n"
    "  local t = {}\n"
    "  for i = 1, 400 do t[i] = random(1000000) end\n"
    "  table.sort(t)\n"
    "  local words = {}\n"
    "  for i = 1, 100 do words[#words + 1] = ('%05d-%s'):format(t[i], ('x'):rep(i % 7)) end\n"
    "  local text = table.concat(words, ' ')\n"
    "  for word in text:gmatch('%d+') do sum = sum + tonumber(word) % 7 end\n"
    "  sum = sum + #text:gsub('x+', function(x) return #x end)\n"
    "end\n"
    "local function fails(i)\n"
    "  if i % 3 == 0 then error({ code = i }) end\n"
    "  if i % 7 == 0 then local nothing; return nothing.field end\n"
    "  return i\n"
    "end\n"
    "for i = 1, 10000 do\n"
    "  local ok, e = pcall(fails, i)\n"
    "  sum = sum + (ok and e or type(e) == 'table' and e.code or #e > 0 and 1 or 0)\n"
    "end\n"
    "local function numbers(n)\n"
    "  return coroutine.wrap(function()\n"
    "    for i = 1, n do if i % 10 == 0 then pcall(error, i) end coroutine.yield(i) end\n"
    "  end)\n"
    "end\n"
    "for i = 1, 200 do for n in numbers(20) do sum = sum + n end end\n"
    "local deep = load('return ' .. ('('):rep(60) .. '1' .. (')'):rep(60))\n"
    "return math.floor(sum + deep())\n";

int main(void) {
    lua_State *lua;
    int failed;
    work_begin();
    lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_gc(lua, LUA_GCGEN, 0, 0);
    failed = luaL_dostring(lua, script);
    printf("%s\n", lua_tostring(lua, -1));
    lua_close(lua);
    work_end();
    return failed;
}
