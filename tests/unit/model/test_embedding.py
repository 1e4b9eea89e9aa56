"""Embeddings are scaled, get their position, and share their table with the output."""

import pytest
import torch

from headway.errors import ConfigError
from headway.model.embedding import InputEmbedding, OutputProjection, TokenEmbedding
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoid_table,
)


def test_pieces_get_the_rows_of_the_table() -> None:
    tokens = TokenEmbedding(5, 3)

    rows = torch.stack([tokens.weight[4], tokens.weight[0]])
    assert torch.equal(tokens(torch.tensor([[4, 0]])), rows[None])


def test_a_piece_that_is_read_as_zeros_gets_no_gradient() -> None:
    tokens = TokenEmbedding(5, 3, zero_id=2)
    vectors = tokens(torch.tensor([[2, 4, 2]]))

    vectors.sum().backward()

    assert torch.equal(vectors[0, [0, 2]], torch.zeros(2, 3))
    assert torch.equal(vectors[0, 1], tokens.weight[4])
    assert tokens.weight.grad is not None
    assert tokens.weight.grad.sum(1).tolist() == [0, 0, 0, 0, 3]


def test_a_fresh_table_times_sqrt_d_model_has_variance_one() -> None:
    weight = TokenEmbedding(400, 64).weight.detach()

    assert (weight * 64**0.5).std().item() == pytest.approx(1.0, rel=0.02)
    assert weight.mean().item() == pytest.approx(0.0, abs=0.003)


def test_the_input_is_embedding_times_sqrt_d_model_plus_position() -> None:
    embed = InputEmbedding(TokenEmbedding(7, 16), SinusoidalPositionalEncoding(16)).eval()
    ids = torch.tensor([[3, 3, 6], [0, 1, 2]])

    result = embed(ids)

    expected = 4.0 * embed.tokens.weight[ids] + sinusoid_table(3, 16).float()
    torch.testing.assert_close(result, expected)


def test_the_scale_is_a_choice() -> None:
    embed = InputEmbedding(
        TokenEmbedding(7, 16), LearnedPositionalEncoding(16, 9), scale=False
    ).eval()

    result = embed(torch.tensor([[3, 5]]), start=4)

    torch.testing.assert_close(result[0], embed.tokens.weight[[3, 5]] + embed.positions.weight[4:6])


def test_dropout_falls_on_the_sum_of_embedding_and_position() -> None:
    embed = InputEmbedding(TokenEmbedding(7, 16), SinusoidalPositionalEncoding(16), dropout=0.5)
    ids = torch.randint(7, (20, 9))

    kept, dropped = embed.eval()(ids), embed.train()(ids)

    assert ((dropped == 0) | torch.isclose(dropped, 2 * kept)).all()
    assert (dropped == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("bad", [-1, 7], ids=["below", "beyond"])
def test_an_id_outside_the_vocabulary_is_refused_with_the_range(bad: int) -> None:
    with pytest.raises(ConfigError, match=r"has tokens 0 to 6\. Use the tokenizer"):
        TokenEmbedding(7, 4)(torch.tensor([[bad, 3]]))


def test_the_output_projection_scores_every_piece_with_the_shared_table() -> None:
    tokens = TokenEmbedding(7, 4)
    project = OutputProjection(tokens.weight)
    hidden = torch.randn(2, 3, 4)

    assert project.weight is tokens.weight
    assert project.bias is None
    torch.testing.assert_close(project(hidden), torch.einsum("btd,vd->btv", hidden, tokens.weight))


def test_an_output_bias_starts_at_zero_and_is_added() -> None:
    project = OutputProjection(TokenEmbedding(7, 4).weight, bias=True)
    hidden = torch.randn(2, 3, 4)
    before = project(hidden)
    assert project.bias is not None

    with torch.no_grad():
        project.bias.copy_(torch.arange(7.0))

    torch.testing.assert_close(project(hidden) - before, torch.arange(7.0).expand(2, 3, 7))
