"""Ship the folder ``labs`` as the package ``pioneers_labs``: check cells read its exercises."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["pioneers*"]), "pioneers_labs"],
    package_dir={"pioneers_labs": "labs"},
)
