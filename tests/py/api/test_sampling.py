"""Sampling: each filter against its definition, the draw against the distribution, seeds, rows that hold no numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lane.errors import UsageError
from lane.sampling import FIRST_BEST, Sampler, Sampling, candidates, greedy, log_probability

ROWS = arrays.arrays(np.float32, st.integers(1, 60), elements=st.floats(-30, 30, width=32))
SHARES = st.floats(0.01, 1.0)


def softmax(x: np.ndarray) -> np.ndarray:
    """In f64, the definition."""
    e = np.exp(x.astype(np.float64) - x.max())
    return e / e.sum()


def ordered(x: np.ndarray) -> list[int]:
    """Ids by falling logit, equal ones by rising id."""
    return sorted(range(len(x)), key=lambda i: (-x[i], i))


@given(ROWS)
def test_greedy_is_the_first_of_the_best(x: np.ndarray) -> None:
    assert greedy(x) == ordered(x)[0]
    assert Sampler(Sampling()).choose(x) == ordered(x)[0]


@given(ROWS, st.integers(1, 70))
def test_top_k_keeps_the_k_best(x: np.ndarray, k: int) -> None:
    assert candidates(x, Sampling(top_k=k)).tolist() == ordered(x)[:k]


@given(ROWS, SHARES)
def test_top_p_keeps_the_fewest_that_reach_it(x: np.ndarray, p: float) -> None:
    kept = candidates(x, Sampling(top_p=p)).tolist()
    share = softmax(x)
    # Shares are summed from f32 exponentials: 60 of them, each off by at most 2^-24 of itself and of its argument (30).
    slack = 60 * 31 * 2**-24
    assert kept == ordered(x)[: len(kept)]
    assert share[kept].sum() >= p - slack
    assert share[kept[:-1]].sum() < p + slack


@given(ROWS, SHARES)
def test_min_p_keeps_those_near_the_best(x: np.ndarray, p: float) -> None:
    kept = set(candidates(x, Sampling(min_p=p)).tolist())
    floor = float(x.max()) + math.log(p)
    # The floor is compared in f32: off by its rounding, 2^-24 of at most 35.
    assert {i for i, v in enumerate(x) if v > floor + 1e-5} <= kept <= {i for i, v in enumerate(x) if v > floor - 1e-5}


@given(ROWS, st.integers(1, 70), SHARES, SHARES)
def test_filters_apply_in_order(x: np.ndarray, k: int, top_p: float, min_p: float) -> None:
    """Top-p's shares are those among the k best."""
    first = candidates(x, Sampling(top_k=k))
    second = first[candidates(x[first], Sampling(top_p=top_p))]
    third = second[candidates(x[second], Sampling(min_p=min_p))]
    found = candidates(x, Sampling(top_k=k, top_p=top_p, min_p=min_p))
    assert sorted(found.tolist()) == sorted(third.tolist())


def test_top_p_beyond_what_it_sorts_at_first() -> None:
    """Equal logits: the fewest that reach a share are that share of all, by rising id."""
    count = FIRST_BEST * 40
    kept = candidates(np.zeros(count, np.float32), Sampling(top_p=0.75))
    assert kept.tolist() == list(range(count * 3 // 4))


@given(ROWS, st.integers(0, 2**32))
def test_a_seed_repeats_its_choices(x: np.ndarray, seed: int) -> None:
    one, other = (Sampler(Sampling(temperature=0.9, seed=seed)) for _ in range(2))
    assert [one.choose(x) for _ in range(20)] == [other.choose(x) for _ in range(20)]


def test_no_seed_differs() -> None:
    x = np.zeros(1 << 20, np.float32)
    drawn = [Sampler(Sampling(temperature=1.0)).choose(x) for _ in range(4)]
    assert len(set(drawn)) > 1  # all four equal: once in 2^60


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("top_k", [None, 3])
def test_draws_follow_the_distribution(temperature: float, top_k: int | None) -> None:
    x = np.array([0.0, 1.5, -1.0, 0.7, 1.0, -3.0], np.float32)
    kept = ordered(x)[:top_k]
    expected = np.zeros(len(x))
    expected[kept] = softmax(x[kept] / temperature)
    count = 4000
    sampler = Sampler(Sampling(temperature=temperature, top_k=top_k, seed=7))
    found = np.bincount([sampler.choose(x) for _ in range(count)], minlength=len(x)) / count
    # Five standard deviations of a share estimated from `count` draws: 0.5 / √count at most.
    assert np.abs(found - expected).max() < 5 * 0.5 / math.sqrt(count)
    assert found[expected == 0].sum() == 0


@given(ROWS)
def test_log_probability(x: np.ndarray) -> None:
    share = softmax(x)
    for token in range(len(x)):
        # f32 differences from the best, 60 at most, are off by 2^-24 of themselves, and so is each exponential.
        assert log_probability(x, token) == pytest.approx(math.log(share[token]), abs=62 * 2**-23)


@settings(max_examples=200)
@given(
    arrays.arrays(np.float32, st.integers(1, 20), elements=st.floats(width=32)),
    st.sampled_from([0.0, 1e-30, 0.8, 1e30]),
    st.sampled_from([{}, {"top_k": 2}, {"top_p": 0.5}, {"min_p": 0.5}, {"top_k": 3, "top_p": 0.9, "min_p": 0.1}]),
)
def test_any_row_gives_a_token_that_is_not_nan(x: np.ndarray, temperature: float, filters: dict[str, float]) -> None:
    token = Sampler(Sampling(temperature=temperature, seed=1, **filters)).choose(x)
    assert 0 <= token < len(x)
    assert not np.isnan(x[token]) or np.isnan(x).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": -0.1}, "temperature is -0.1, allowed 0 or more"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_k": 0}, "top_k is 0, allowed a whole number, 1 or more"),
        ({"top_p": 0.0}, "top_p is 0.0, allowed above 0, at most 1"),
        ({"top_p": 1.1}, "top_p is 1.1"),
        ({"top_p": math.nan}, "top_p is nan"),
        ({"min_p": -0.1}, "min_p is -0.1, allowed 0 to 1"),
        ({"min_p": 1.5}, "min_p is 1.5"),
        ({"seed": -1}, "seed is -1, allowed a whole number, 0 or more"),
    ],
)
def test_refusals(options: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match="sampling: ") as caught:
        Sampling(**options)
    assert said in str(caught.value)
