"""Units of work that wait for a place in a batch, fair between clients."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from headway.service.engine.texts import Unit
from headway.service.engine.wishes import Kind

_Clients = OrderedDict[str, deque[Unit]]


class WaitingLine:
    """Units by kind and client: kinds take turns, and within a kind the clients do.

    A client with a thousand sentences delays the one sentence of another by one place. All methods
    may be called from any thread.
    """

    def __init__(self) -> None:
        """Begin empty and open."""
        self._kinds: OrderedDict[Kind, _Clients] = OrderedDict()
        self._changing = threading.Lock()
        self._asleep: list[threading.Condition] = []
        """One for each waiting worker, in order. The last wakes first: its caches may be warm."""
        self._open = True
        self._idle = 0  # workers without units
        self.arrived: Callable[[], None] = lambda: None
        """Called after units were added; workers with room take them then."""

    def __len__(self) -> int:
        """Return the number of units that wait."""
        with self._changing:
            return sum(len(units) for clients in self._kinds.values() for units in clients.values())

    def add(self, client: str, units: Sequence[Unit]) -> None:
        """Add the units of a text behind the client's other units."""
        with self._changing:
            for unit in units:
                clients = self._kinds.setdefault(unit.kind, OrderedDict())
                clients.setdefault(client, deque()).append(unit)
            for _ in range(min(len(units), len(self._asleep))):
                self._asleep.pop().notify()
        self.arrived()

    def close(self) -> None:
        """Let `next_kind` return None once the line is empty."""
        with self._changing:
            self._open = False
            while self._asleep:
                self._asleep.pop().notify()

    def next_kind(self) -> Kind | None:
        """Wait for a unit; return the kind whose turn it is. None if the line is closed and empty.

        The kind goes behind the others. A worker without units calls this.
        """
        with self._changing:
            self._idle += 1
            while not self._kinds and self._open:
                self._asleep.append(woken := threading.Condition(self._changing))
                woken.wait()
            if not self._kinds:
                return None
            kind = next(iter(self._kinds))
            self._kinds.move_to_end(kind)
            return kind

    def waits(self, kind: Kind) -> bool:
        """Return True if units of this kind wait."""
        with self._changing:
            return kind in self._kinds

    def others_wait(self, kind: Kind) -> bool:
        """Return True if units of another kind wait."""
        with self._changing:
            return any(other != kind for other in self._kinds)

    def only_works(self, workers: int) -> bool:
        """Return True if nothing waits, and all of these workers but the caller are idle."""
        with self._changing:
            return not self._kinds and self._idle == workers - 1

    def take(self, kind: Kind, most: int, pieces: int, *, first: bool = False) -> list[Unit]:
        """Return the next units of a kind: at most `most`, and about `pieces` source pieces.

        At least one unit is returned, however long. first: the worker was idle; it takes an equal
        share, so that as many units are left for each other idle worker.
        """
        taken: list[Unit] = []
        with self._changing:
            shares = max(self._idle, 1) if first else 1
            self._idle -= first
            clients = self._kinds.get(kind, OrderedDict())
            count = sum(map(len, clients.values()))
            most = min(most, -(-count // shares))
            while clients and len(taken) < most:
                client, units = next(iter(clients.items()))
                pieces -= units[0].pieces
                if taken and pieces < 0:
                    break
                taken.append(units.popleft())
                clients.move_to_end(client)
                if not units:
                    del clients[client]
            if not clients:
                self._kinds.pop(kind, None)
        return taken

    def take_all(self, kind: Kind) -> list[Unit]:
        """Return all units of a kind, for an idle worker that cannot work on them."""
        with self._changing:
            self._idle -= 1
            clients = self._kinds.pop(kind, OrderedDict())
            return [unit for units in clients.values() for unit in units]

    def drop(self, job: int) -> None:
        """Forget the waiting units of a job."""
        with self._changing:
            for kind, clients in list(self._kinds.items()):
                for client, units in list(clients.items()):
                    kept = deque(unit for unit in units if unit.text.job != job)
                    if kept:
                        clients[client] = kept
                    else:
                        del clients[client]
                if not clients:
                    del self._kinds[kind]
