"""Named tensors: numbers by axis and piece; arithmetic makes plain tensors."""

import copy
import pickle

import pytest
import torch

from headway.errors import TraceError
from headway.inspection.named_tensor import Axis, TracedTensor, named

ROWS = Axis("query", "T", ("▁I", "▁see", "▁see"), ("<s>", "▁I", "▁see"))
COLUMNS = Axis("key", "S", ("▁나는", "▁본", "다", "</s>"))


@pytest.fixture
def tensor() -> TracedTensor:
    return named(torch.arange(24.0).reshape(2, 3, 4), "w", [Axis("head", "H"), ROWS, COLUMNS])


def test_numbers_are_found_by_axis_number_and_piece(tensor: TracedTensor) -> None:
    assert tensor.at(head=1, query=0, key=2).item() == 14
    assert tensor.at(head=1, query="▁I", key="다").item() == 14
    assert tensor.at(head=-1, query="I", key="</s>").item() == 15
    rest = tensor.at(key="본")
    assert [axis.name for axis in rest.axes] == ["head", "query"]
    assert rest.tolist() == [[1, 5, 9], [13, 17, 21]]


def test_a_target_row_says_what_it_reads_and_what_it_writes() -> None:
    assert ROWS.labels() == ("<s> → ▁I", "▁I → ▁see", "▁see → ▁see")
    assert COLUMNS.label(1) == "▁본"
    assert Axis("head", "H").label(1) == "1"
    assert Axis("head", "H").labels() == ()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"key": "▁나를"}, "There is no token '▁나를' along the axis 'key'. Did you mean '▁나는'"),
        ({"query": "▁see"}, "The token '▁see' is at places 1, 2 of the axis 'query'. Give one of"),
        ({"head": "▁I"}, "No tokens are known along the axis 'head'"),
        ({"head": 2}, "The axis 'head' has places 0 to 1, but not 2"),
        ({"heads": 0}, "'w' has no axis 'heads'. Its axes are head, query, key."),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    tensor: TracedTensor, where: dict[str, int | str], message: str
) -> None:
    with pytest.raises(TraceError) as error:
        tensor.at(**where)
    assert message in str(error.value)


def test_what_is_computed_from_it_is_a_plain_tensor(tensor: TracedTensor) -> None:
    for result in (tensor + 1, tensor[0], tensor.sum(), tensor.mT, torch.stack([tensor, tensor])):
        assert type(result) is torch.Tensor
    assert torch.equal(tensor, torch.arange(24.0).reshape(2, 3, 4))


def test_it_keeps_its_memory_and_a_copy_keeps_its_axes(tensor: TracedTensor) -> None:
    numbers = torch.zeros(3)
    own = named(numbers, "x", [ROWS])
    assert own.data_ptr() == numbers.data_ptr()
    for other in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert other.axes == tensor.axes
        assert other.path == "w"
        assert torch.equal(other, tensor)


def test_it_prints_its_axes_above_its_numbers(tensor: TracedTensor) -> None:
    first, *numbers = repr(tensor).split("\n")
    assert first == "w  (head=2, query=3, key=4)"
    assert "\n".join(numbers) == repr(torch.arange(24.0).reshape(2, 3, 4))


def test_an_axis_shows_the_first_of_many_pieces() -> None:
    assert repr(Axis("head", "H")) == "Axis('head', 'H')"
    assert repr(COLUMNS) == "Axis('key', 'S', pieces=('▁나는', '▁본', '다', '</s>'))"
    vocabulary = Axis("vocabulary", "V", tuple(map(str, range(3200))))
    assert repr(vocabulary) == (
        "Axis('vocabulary', 'V', pieces=('0', '1', '2', '3', '4', '5', '6', '7', … 3,200 in all))"
    )
