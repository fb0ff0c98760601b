"""A pseudo-terminal, which Node cannot make itself: runs a program in one, types what it is told on stdin, passes on what is drawn.

bridge.py <columns> <rows> <program> [argument ...]
stdin: lines of JSON, {"keys": "q"} or {"size": [columns, rows]}; stdout: all that the program writes; last line of stderr: how it ended.
"""

import fcntl, json, os, pty, select, struct, sys, termios


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


columns, rows, *command = sys.argv[1:]
terminal, inside = pty.openpty()
resize(inside, int(columns), int(rows))
before = termios.tcgetattr(inside)
child = os.fork()
if child == 0:
    os.close(terminal)
    os.setsid()
    fcntl.ioctl(inside, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(inside, stream)
    os.execvp(command[0], command)

told = b""
sources = [terminal, 0]
ended = None
while ended is None or select.select([terminal], [], [], 0)[0]:
    ready, _, _ = select.select(sources, [], [], 0.05)
    if terminal in ready:
        os.write(1, os.read(terminal, 65536))
    if 0 in ready:
        more = os.read(0, 65536)
        if more == b"":
            sources.remove(0)
        told += more
        *lines, told = told.split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "keys" in order:
                os.write(terminal, order["keys"].encode())
            else:
                resize(terminal, *order["size"])
    if ended is None:
        pid, status = os.waitpid(child, os.WNOHANG)
        ended = status if pid == child else None

restored = termios.tcgetattr(inside) == before
print(json.dumps({"code": os.waitstatus_to_exitcode(ended), "restored": restored}), file=sys.stderr)
