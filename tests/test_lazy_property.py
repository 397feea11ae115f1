"""What an object finds out when it is first asked keeps nobody waiting who asks another one."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from source_tree import library

from langmem_tiers.lazy_property import lazy_property

WAIT = 10


class Slow:
    """Something whose value is there once it may be."""

    def __init__(self):
        self.may, self.asked, self.times = Event(), Event(), 0

    @lazy_property
    def value(self):
        """A value."""
        self.times += 1
        self.asked.set()
        return [self.may.wait(WAIT)]


def test_one_that_takes_long_keeps_no_other_object_waiting():
    slow, quick = Slow(), Slow()
    quick.may.set()
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(lambda: slow.value)
        assert slow.asked.wait(WAIT)
        assert quick.value == [True]
        assert not waiting.done()
        slow.may.set()
        assert waiting.result(WAIT) is slow.value


def test_it_is_found_once_and_documented():
    each = Slow()
    each.may.set()
    assert (each.value is each.value, each.times, Slow.value.__doc__) == (True, 1, "A value.")


def test_the_library_has_no_properties_that_share_a_lock():
    assert [name for name, path in library().items() if "import cached_property" in path.read_text()] == []
