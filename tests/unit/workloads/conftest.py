import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Small models are slower on two threads than on one wherever tests share the cores."""
    torch.set_num_threads(1)
