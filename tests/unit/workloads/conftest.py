import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """As in the programs: threads that wait for each other cost much where the cores are shared."""
    torch.set_num_threads(1)
