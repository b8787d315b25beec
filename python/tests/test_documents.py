"""The code of the documents and of the docstrings does what they say."""

import doctest
import re

import pytest
from conftest import DATA, ROOT

import trimill

DOCUMENTS = ["docs/python.md", "docs/guide.md", "python/README.md", "README.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_code(document, monkeypatch, tmp_path):
    """Runs the blocks of Python, one after another, in one session, in the repository's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(DATA.parent)
    text = (ROOT / document).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    test = parser.get_doctest("\n".join(blocks), {}, document, document, 0)
    assert test.examples, "no code"
    assert runner.run(test).failed == 0
    # No example was left out.
    assert sum(block.count(">>> ") for block in blocks) == len(test.examples)
    assert all(">>> " in block for block in blocks)


@pytest.mark.parametrize("module", ["trimill", "trimill._api"])
def test_docstrings(module):
    result = doctest.testmod(__import__(module, fromlist=["_"]), extraglobs={"trimill": trimill})
    assert result.attempted > 0 and result.failed == 0


def test_what_is_public_is_documented():
    for name in trimill.__all__:
        assert getattr(trimill, name).__doc__, name
