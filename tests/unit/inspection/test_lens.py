"""The logit lens of the last layer is what the model gives."""

import pytest
import torch

from headway.errors import TraceError
from headway.inspection.lens import logit_lens
from headway.inspection.trace import Trace

SOURCE = "나는 너를 본다 ."


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("output_bias", [False, True])
def test_the_last_layer_gives_the_probabilities_of_the_model(
    make, norm_position: str, output_bias: bool
) -> None:
    trace = make(norm_position=norm_position, output_bias=output_bias).trace(SOURCE)
    first, last = logit_lens(trace, 4)
    assert (first.name, last.name) == ("decoder.layers.0.output", "decoder.layers.1.output")
    shares = trace["probabilities"]
    values, pieces = shares.topk(4, dim=-1)
    sentence = trace.sentence
    for row, told in enumerate(last.rows):
        own = [sentence.vocabulary[piece] for piece in pieces[row].tolist()]
        assert [piece for piece, _ in told.best] == own
        assert [share for _, share in told.best] == pytest.approx(values[row].tolist())
        assert told.written == pytest.approx(float(shares[row, sentence.label_ids[row]]))
        assert told.norm == pytest.approx(float(torch.linalg.norm(trace[last.name][row])))
    assert first.rows != last.rows


def test_it_takes_a_model_and_a_sentence() -> None:
    with pytest.raises(TraceError, match="A lens needs"):
        logit_lens(Trace())
