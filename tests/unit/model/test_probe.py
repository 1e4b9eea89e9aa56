"""A probe is silent without a listener, and a listener hears and may replace."""

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headway.model.probe import listen, listening, probe, stop_listening


def test_without_a_listener_a_probe_returns_the_tensor_itself() -> None:
    tensor = torch.ones(2)

    assert not listening()
    assert probe(nn.Identity(), "x", tensor) is tensor


def test_a_listener_hears_module_name_and_tensor_and_its_answer_takes_their_place() -> None:
    heard: list[tuple[nn.Module, str, Tensor]] = []
    module, tensor = nn.Identity(), torch.ones(2)

    def listener(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        heard.append((module, name, tensor))
        return tensor * 3

    token = listen(listener)
    answer = probe(module, "x", tensor)
    stop_listening(token)

    assert heard == [(module, "x", tensor)]
    assert answer.tolist() == [3, 3]
    assert not listening()


def test_listeners_nest() -> None:
    outer = listen(lambda module, name, tensor: tensor + 1)
    inner = listen(lambda module, name, tensor: tensor + 10)

    assert probe(nn.Identity(), "x", torch.zeros(())).item() == 10
    stop_listening(inner)
    assert probe(nn.Identity(), "x", torch.zeros(())).item() == 1
    stop_listening(outer)
    assert probe(nn.Identity(), "x", torch.zeros(())).item() == 0


def test_a_lasting_listener_stays_when_another_comes() -> None:
    lasting = listen(lambda module, name, tensor: tensor + 1, lasting=True)
    more = listen(lambda module, name, tensor: tensor * 3, lasting=True)
    heard: list[float] = []

    def hear(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        heard.append(tensor.item())
        return tensor

    token = listen(hear)
    assert probe(nn.Identity(), "x", torch.ones(())).item() == 6
    stop_listening(token)
    stop_listening(more)
    assert probe(nn.Identity(), "x", torch.ones(())).item() == 2
    stop_listening(lasting)
    assert probe(nn.Identity(), "x", torch.ones(())).item() == 1
    assert heard == [6]


def test_a_listener_does_not_hear_other_threads() -> None:
    heard_elsewhere: list[bool] = []
    token = listen(lambda module, name, tensor: tensor)
    thread = threading.Thread(
        target=contextvars.Context().run, args=(lambda: heard_elsewhere.append(listening()),)
    )

    thread.start()
    thread.join()
    stop_listening(token)

    assert heard_elsewhere == [False]


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return probe(self, "twice", x * 2) + 1


def test_compiled_code_has_no_probes_but_a_listener_hears_it_all_the_same() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    module = torch.compile(Doubled(), backend=backend, fullgraph=True)
    assert module(torch.ones(2)).tolist() == [3, 3]
    assert len(graphs) == 1
    heard: list[str] = []

    def listener(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        heard.append(name)
        return tensor * 10

    token = listen(listener)
    answer = torch.compile(Doubled(), backend=backend)(torch.ones(2))
    stop_listening(token)

    assert heard == ["twice"]
    assert answer.tolist() == [21, 21]
    assert module(torch.ones(2)).tolist() == [3, 3]
