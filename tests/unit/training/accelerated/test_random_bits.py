"""The draws are published ones."""

from headway.training.accelerated.dropout import draw


def test_draws_are_those_of_splitmix64() -> None:
    published = [  # from its reference implementation, seed 1234567; the first state is the key
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
        16408922859458223821,
    ]  # fmt: skip
    assert [number % 2**64 for number in draw(6, 1234567).tolist()[1:]] == published
