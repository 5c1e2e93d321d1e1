"""A receiver of push notifications on loopback."""

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Receiver:
    """Keeps each request's headers, names in lower case, and its body as JSON."""

    def __enter__(self):
        self._loop, self._arrived = asyncio.get_running_loop(), asyncio.Queue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver._loop.call_soon_threadsafe(receiver._arrived.put_nowait, (headers, body))

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    async def until(self, is_last):
        """What arrives, up to the first body that `is_last` is true of."""
        arrived = []
        while not arrived or not is_last(arrived[-1][1]):
            arrived.append(await self._arrived.get())
        return arrived
