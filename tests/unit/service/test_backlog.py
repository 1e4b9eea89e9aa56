"""The backlog of a model: room by number and by time."""

from headway.service.backlog import Backlog


def test_room_is_limited_by_characters_and_by_the_time_that_they_take() -> None:
    now = [0.0]
    backlog = Backlog(1000, 10.0, lambda: now[0])
    assert backlog.has_room(5000)  # the limit on a request is elsewhere
    backlog.add(600)
    assert backlog.has_room(400)
    assert not backlog.has_room(401)
    now[0] = 5.0
    backlog.remove(100, translated=True)  # 20 characters a second: 500 take 25 seconds
    assert backlog.speed == 20.0
    assert backlog.wait == 25.0
    assert not backlog.has_room(1)
    backlog.remove(400, translated=False)
    assert backlog.has_room(1)


def test_the_speed_is_that_while_there_is_work() -> None:
    now = [0.0]
    backlog = Backlog(1000, 10.0, lambda: now[0])
    for begin in (0.0, 1000.0):
        now[0] = begin
        backlog.add(100)
        now[0] = begin + 2
        backlog.remove(100, translated=True)
    assert backlog.speed == 50.0
    assert backlog.wait == 0.0
