"""A client that keeps many connections busy for a while, and counts what it gets: ``python flood.py PORT N SECONDS``.

Whoever is refused comes back at once, as the worst clients do. A process of its own, with as little client as possible.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter

BODY = json.dumps({"rows": [{}] * 20}).encode()
REQUEST = (
    b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
) + BODY
_LENGTH = re.compile(rb"content-length: (\d+)")


async def keep_busy(port, end, seen):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    while time.monotonic() < end:
        writer.write(REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(_LENGTH.search(head)[1]))
        seen[int(head[9:12])] += 1
    writer.close()


async def flood(port, connections, seconds):
    seen = Counter()
    end = time.monotonic() + seconds
    await asyncio.gather(*(keep_busy(port, end, seen) for _ in range(connections)))
    return seen


if __name__ == "__main__":
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    print(json.dumps(asyncio.run(flood(port, connections, seconds))))
