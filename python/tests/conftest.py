"""What the tests share."""

from __future__ import annotations

import logging
import os

import pytest
from making import make_likes

logging.getLogger("crosswise").setLevel(logging.ERROR)


@pytest.fixture(scope="session")
def likes():
    return make_likes()


@pytest.fixture(scope="session")
def fitted(likes):
    from crosswise import BPR

    return BPR(factors=8, iterations=6, random_state=1).fit(likes, show_progress=False)


@pytest.fixture
def data_folder():
    folder = os.environ.get("CROSSWISE_DATA", "")
    if not os.path.exists(os.path.join(folder, "README.md")):
        pytest.skip("no datasets: CROSSWISE_DATA names their folder")
    return folder
