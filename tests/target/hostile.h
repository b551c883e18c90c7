/* Macros of others that stand before prof.h in real programs. */
/* Windows (rpcndr.h, windef.h, winuser.h, dlgs.h) */
#define small char
#define near
#define far
#define NEAR
#define FAR
#define huge
#define hyper long
#define pascal
#define cdecl
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define ERROR 0
#define NO_ERROR 0
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define DELETE 0x10000L
#define TRUE 1
#define FALSE 0
#define STRICT 1
#define THIS void
#define PURE = 0
#define ABSOLUTE 1
#define RELATIVE 2
#define OPAQUE 2
#define TRANSPARENT 1
#define IGNORE 0
#define rad1 0x0420
#define grp1 0x0430
/* X11 */
#define None 0L
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Above 0
/* Qt */
#define slots
#define signals public
#define emit
#define foreach(x, y) for (x; y;)
#define forever for (;;)
/* Arduino, Apple, the kernel, curses, what people write themselves */
#define check(x)
#define verify(x)
#define require(x, y)
#define bit(b) (1UL << (b))
#define round(x) ((long)((x) + 0.5))
#define word(x) (x)
#define sq(x) ((x) * (x))
#define F(s) s
#define HIGH 1
#define LOW 0
#define INPUT 0
#define OUTPUT 1
#define DEFAULT 1
#define PI 3.14
#define major(x) (x)
#define minor(x) (x)
#define likely(x) (x)
#define unlikely(x) (x)
#define MIN(a, b) 1
#define MAX(a, b) 1
#define ARRAY_SIZE(x) 1
#define BIT(x) 1
#define ALIGN(x) x
#define LOAD(x) x
#define STORE(x) x
#define OK 0
#define FAIL 1
#define DEBUG 1
#define EMPTY
#define UNUSED
#define INLINE inline
#define EXPORT
#define API
#define clear() 1
#define move(a, b) 1
#define erase() 1
#define refresh() 1
/* lwip/sockets.h, and a project's own short names: what prof.h calls through a pointer */
#define close(s) lwip_close(s)
#define read(s, mem, len) lwip_read(s, mem, len)
#define write(s, mem, len) lwip_write(s, mem, len)
#define fcntl(s, cmd, val) lwip_fcntl(s, cmd, val)
#define ioctl(s, cmd, arg) lwip_ioctl(s, cmd, arg)
#define poll(a, b, c) lwip_poll(a, b, c)
#define now() my_now()
#define start(x) my_start(x)
#define stop() my_stop()
#define flush(x) my_flush(x)
#define status(x) my_status(x)
#define item(x) my_item(x)
#define next(x) my_next(x)
#define begin(x) my_begin(x)
#define end(x) my_end(x)
