"""What tests of several rooms share: projects, services, clients and worlds to run the program in."""

import pkgutil

import pytest

# An assertion in here says as much as one in a test.
pytest.register_assert_rewrite(*(f"{__name__}.{each.name}" for each in pkgutil.iter_modules(__path__)))
