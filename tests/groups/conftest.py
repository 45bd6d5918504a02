import pytest
from support import ALL_GROUPS


@pytest.fixture(params=ALL_GROUPS, ids=str, scope="session")
def G(request):
    return request.param
